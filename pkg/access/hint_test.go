package access

import (
	"fmt"
	"testing"
	"time"
)

func TestHintsAreStaged(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, all...)
		b.reviewer.Require(newListener(), team, all, Payer{})
		other := Key{Identity: "other", Namespace: "team"}
		b.server.grant(other, all...)
		b.reviewer.Require(newListener(), other, all, Payer{})
		elsewhere := Key{Namespace: "elsewhere"}
		b.reviewer.Require(newListener(), everywhere, all, Payer{})
		b.server.grant(everywhere, all...)
		b.server.grant(elsewhere, all...)
		b.reviewer.Require(newListener(), elsewhere, all, Payer{})
		b.pass(10 * time.Second)
		n := b.server.count()
		b.reviewer.Invalidate("team")
		b.pass(time.Hour)
		at := map[Key][]float64{}
		for _, p := range b.server.since(n) {
			at[p.place] = append(at[p.place], p.at.Seconds())
		}
		want := []float64{10.02, 10.3, 11.5}
		expect(b, "no change, so three probes, of all identities", map[Key][]float64{team: want, other: want}, at)
	})
}

func TestHintEndsWithAChange(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		sub := newListener()
		b.server.grant(team, all...)
		b.reviewer.Require(sub, team, all, Payer{})
		b.pass(10 * time.Second)
		n := b.server.count()
		sub.take()
		b.reviewer.Invalidate("team")
		b.pass(100 * time.Millisecond)
		b.server.revoke(team, list) // the authorizer lags
		b.pass(250 * time.Millisecond)
		expect(b, "seen by the second probe", Denied, b.reviewer.Decide(team, list))
		expect(b, "told", map[Key]int{team: 1}, sub.take())
		b.server.grant(team, list)
		b.pass(time.Hour)
		expect(b, "then as any denial", []float64{10.02, 10.3, 11.3}, times(b.server.since(n)))
	})
}

// TestHintOfSeveralChanges: two changes are hinted at together, and the authorizer knows
// one of them later. When nothing else is denied nobody would look again.
func TestHintOfSeveralChanges(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, list, watching)
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(10 * time.Second)
		b.reviewer.Invalidate("team")
		b.reviewer.Invalidate("team")
		b.server.grant(team, create)
		b.pass(100 * time.Millisecond)
		expect(b, "the first change", Allowed, b.reviewer.Decide(team, create))
		b.server.revoke(team, list)
		b.pass(2 * time.Second)
		expect(b, "the second", Denied, b.reviewer.Decide(team, list))
	})
}

// TestHintAfterAnother: the second of two changes is hinted at when the first was looked for
// already, in vain; then the authorizer knows the first, and the second last.
func TestHintAfterAnother(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, list, watching)
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(10 * time.Second)
		b.reviewer.Invalidate("team")
		b.pass(50 * time.Millisecond)
		b.reviewer.Invalidate("team")
		b.pass(10 * time.Millisecond)
		b.server.grant(team, all...)
		b.pass(150 * time.Millisecond)
		expect(b, "the first change", Allowed, b.reviewer.Decide(team, create))
		b.server.revoke(team, list)
		b.pass(2 * time.Second)
		expect(b, "the second", Denied, b.reviewer.Decide(team, list))
	})
}

// TestHintAndFirstAnswer: that something is known for the first time is not the change that
// was hinted at.
func TestHintAndFirstAnswer(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, all...)
		sub := newListener()
		b.reviewer.Require(sub, team, []Access{list, watching}, Payer{})
		b.pass(10 * time.Second)
		b.server.set(func() { b.server.delay = func(Key) time.Duration { return 50 * time.Millisecond } })
		b.reviewer.Invalidate("team")
		b.pass(40 * time.Millisecond)
		b.reviewer.Require(sub, team, all, Payer{}) // while the probe is on its way
		b.pass(60 * time.Millisecond)
		expect(b, "known for the first time", Allowed, b.reviewer.Decide(team, create))
		b.server.revoke(team, list)
		b.pass(2 * time.Second)
		expect(b, "the change", Denied, b.reviewer.Decide(team, list))
	})
}

// TestHintBeforeFirstReview: a change is hinted at just before somebody wants to know, and
// the first review is answered as if it had not been.
func TestHintBeforeFirstReview(t *testing.T) {
	for name, hinted := range map[string]string{"Namespace": "team", "AllNamespaces": ""} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(b *bench) {
				b.server.grant(team, all...)
				other := Key{Namespace: "other"}
				b.server.grant(other, all...)
				b.reviewer.Invalidate(hinted)
				b.reviewer.Require(newListener(), team, all, Payer{})
				b.reviewer.Require(newListener(), other, all, Payer{})
				b.pass(10 * time.Millisecond)
				expect(b, "the first answer", Allowed, b.reviewer.Decide(team, list))
				b.server.revoke(team, list)
				b.pass(2 * time.Second)
				expect(b, "the change", Denied, b.reviewer.Decide(team, list))
				want := 3 // the first reviews, and one probe of what was hinted at
				if hinted == "" {
					want = 4
				}
				expect(b, "requests", want, len(b.server.since(0)))
			})
		})
	}
}

func TestHintsAreCoalesced(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, all...)
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(time.Second)
		n := b.server.count()
		for range 1000 {
			b.reviewer.Invalidate("team")
			b.pass(10 * time.Millisecond)
		}
		if got := len(b.server.since(n)); got < 50 || got > 100 {
			b.Errorf("%d requests for 10 s of hints", got)
		}
		b.pass(time.Hour)
		if got := len(b.server.since(n)); got > 105 {
			b.Errorf("%d requests in all", got)
		}
	})
}

func TestHintsOfAllNamespaces(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		for i := range 100 {
			b.server.grant(Key{Namespace: fmt.Sprint(i)}, all...)
			b.reviewer.Require(newListener(), Key{Namespace: fmt.Sprint(i)}, all, Payer{})
		}
		b.server.grant(everywhere, list)
		b.reviewer.Require(newListener(), everywhere, []Access{list}, Payer{})
		b.pass(time.Minute)
		n := b.server.count()
		b.reviewer.Invalidate("")
		b.pass(500 * time.Millisecond)
		b.server.revoke(Key{Namespace: "7"}, list)
		b.reviewer.Invalidate("7")
		b.pass(700 * time.Millisecond) // until there is room again, and a little
		expect(b, "a hint at one namespace goes first", Denied, b.reviewer.Decide(Key{Namespace: "7"}, list))
		b.pass(time.Minute)
		places := map[Key]bool{}
		for _, p := range b.server.since(n) {
			places[p.place] = true
		}
		expect(b, "places probed", 101, len(places))
		if got := most(b.server.since(n), time.Second); got > 20 {
			b.Errorf("%d requests in a second", got)
		}
		if got := len(b.server.since(n)); got > 200 {
			b.Errorf("%d requests for one hint", got)
		}
	})
}

func TestRoutineIsNotStarved(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		for i := range 40 {
			at := Key{Namespace: fmt.Sprint(i)}
			b.server.grant(at, all...)
			b.reviewer.Require(newListener(), at, all, Payer{})
		}
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(10 * time.Second)
		b.server.grant(team, all...)
		for range 300 { // invalidations enough to use up the ceiling
			for i := range 40 {
				b.reviewer.Invalidate(fmt.Sprint(i))
			}
			b.pass(20 * time.Millisecond)
		}
		expect(b, "a routine probe had its turn", Allowed, b.reviewer.Decide(team, list))
	})
}

func TestTriggeredChanges(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(20 * time.Second)
		b.reviewer.SetEventDriven(true)
		n := b.server.count()
		b.pass(50 * time.Second)
		expect(b, "rare", 0, len(b.server.since(n)))
		b.pass(30 * time.Second)
		expect(b, "but not never", 1, len(b.server.since(n)))
		b.pass(30 * time.Second)
		b.reviewer.SetEventDriven(false)
		b.pass(20 * time.Millisecond)
		expect(b, "overdue at once", 2, len(b.server.since(n)))
		b.server.grant(team, all...)
		b.pass(4600 * time.Millisecond)
		expect(b, "and often again", Allowed, b.reviewer.Decide(team, list))
	})
}
