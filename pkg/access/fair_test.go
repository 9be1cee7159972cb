package access

import (
	"fmt"
	"testing"
	"time"
)

// hostilePlaces is how many keys one payer, or one tenant, has asked about: at the ceiling a round
// over them takes 50 seconds, ten times as long as whoever is treated fairly waits for anything.
const hostilePlaces = 1000

// keepHostile keeps so many keys, in all of which everything is denied.
func (b *bench) keepHostile(payer Payer) {
	b.Helper()
	for i := range hostilePlaces {
		b.reviewer.Require(newListener(), Key{Namespace: fmt.Sprintf("n%d", i)}, all, payer)
	}
}

// until waits at most so long until ok, and returns how long that took.
func (b *bench) until(limit time.Duration, ok func() bool) time.Duration {
	b.Helper()
	start := time.Now()
	for ; !ok(); b.pass(10 * time.Millisecond) {
		if time.Since(start) > limit {
			b.Fatalf("not within %s", limit)
		}
	}
	return time.Since(start)
}

// TestFairReviews: one payer has very many first reviews, and after them as many denied keys.
// What others ask is answered as if it had one.
func TestFairReviews(t *testing.T) {
	hostile := Payer{Group: "p", Name: "hostile"}
	for name, victim := range map[string]Payer{
		"another policy": {Group: "q"}, "another owner": {Group: "p", Name: "victim"}, "an owner's own place": {Group: "p"},
	} {
		for _, after := range []time.Duration{time.Second, 12 * time.Minute} {
			t.Run(fmt.Sprint(name, " after ", after), func(t *testing.T) {
				inBubble(t, Options{}, func(b *bench) {
					b.keepHostile(hostile)
					b.pass(after)
					sub := newListener()
					b.reviewer.Require(sub, team, all, victim)
					first := b.until(time.Hour, func() bool { return b.reviewer.State(team).Reviewed })
					if first > time.Second {
						b.Errorf("the first review: after %s", first)
					}
					b.pass(20 * time.Second)
					b.server.grant(team, all...)
					granted := b.until(time.Hour, func() bool { return b.reviewer.Decide(team, create) == Allowed })
					if granted > 5*time.Second {
						b.Errorf("a grant: after %s", granted)
					}
					b.server.revoke(team, all...)
					b.reviewer.Invalidate("team")
					hinted := b.until(time.Hour, func() bool { return b.reviewer.Decide(team, create) == Denied })
					if hinted > time.Second {
						b.Errorf("a hint: after %s", hinted)
					}
					if n := most(b.server.since(0), time.Second); n > defaultCeiling {
						b.Errorf("%d requests in a second", n)
					}
				})
			})
		}
	}
}

// TestFairToTenants: very many payers of one tenant have a key each, in which everything is denied.
// What a payer of another tenant asks is answered as if there were one of them.
func TestFairToTenants(t *testing.T) {
	for _, after := range []time.Duration{time.Second, time.Minute} {
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			inBubble(t, Options{}, func(b *bench) {
				for i := range hostilePlaces {
					payer := Payer{Group: "p", Tenant: "evil", Name: fmt.Sprint(i)}
					b.reviewer.Require(newListener(), Key{Namespace: fmt.Sprintf("n%d", i)}, all, payer)
				}
				b.pass(after)
				b.reviewer.Require(newListener(), team, all, Payer{Group: "p", Tenant: "good", Name: "victim"})
				if first := b.until(time.Minute, func() bool { return b.reviewer.State(team).Reviewed }); first > time.Second {
					b.Errorf("the first review: after %s", first)
				}
				b.pass(20 * time.Second)
				b.server.grant(team, all...)
				if granted := b.until(time.Minute, func() bool { return b.reviewer.Decide(team, create) == Allowed }); granted > 5*time.Second {
					b.Errorf("a grant: after %s", granted)
				}
			})
		})
	}
}

// TestSharedPlaceIsWithTheCheapest: a key that a payer with many keys keeps as well is
// on the account of the other.
func TestSharedPlaceIsWithTheCheapest(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.keepHostile(Payer{Group: "p", Name: "hostile"})
		b.pass(time.Second)
		b.reviewer.Require(newListener(), team, all, Payer{Group: "p", Name: "hostile"})
		b.reviewer.Require(newListener(), team, all, Payer{Group: "p", Name: "victim"})
		if took := b.until(time.Hour, func() bool { return b.reviewer.State(team).Reviewed }); took > time.Second {
			b.Errorf("the first review: after %s", took)
		}
	})
}

// TestOwnPlacesGoFirst: what a group needs for itself goes before its names, and leaves
// them a turn.
func TestOwnPlacesGoFirst(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		for i := range 700 {
			b.reviewer.Require(newListener(), Key{Namespace: fmt.Sprintf("home-%d", i)}, all, Payer{Group: "p"})
		}
		for i := range 100 {
			b.reviewer.Require(newListener(), Key{Namespace: fmt.Sprintf("other-%d", i)}, all, Payer{Group: "p", Name: fmt.Sprint(i % 10)})
		}
		b.pass(time.Minute)
		reviewed := map[string]int{}
		for _, p := range b.server.since(0)[:400] {
			reviewed[p.place.Namespace[:4]]++
		}
		if reviewed["othe"] < 400/(patience+1)-10 || reviewed["othe"] > 400/(patience+1)+10 {
			b.Errorf("the first 400 requests: %v", reviewed)
		}
	})
}
