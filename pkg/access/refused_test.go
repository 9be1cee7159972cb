package access

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefused(t *testing.T) {
	name := list
	name.Name = "a"
	cases := map[string]struct {
		reason   string
		place    Key
		kept     []Access
		refused  Access
		change   func(*server)
		requests []Access // zero: the rules
		want     Decision
	}{
		"Revoked": {
			reason: "The rules agree: one request tells all.", place: team, kept: all, refused: list,
			change:   func(s *server) { s.revoke(team, all...) },
			requests: []Access{{}}, want: Denied,
		},
		"Contradicted": {
			reason: "A quota, for example: exactly this access is confirmed, and remains.", place: team, kept: all, refused: list,
			requests: []Access{{}, list}, want: Allowed,
		},
		"RulesLag": {
			reason: "An access review counts against the rules.", place: team, kept: all, refused: list,
			change:   func(s *server) { s.set(func() { put(s.forbidden, team, all[:1], true) }) },
			requests: []Access{{}, list}, want: Denied,
		},
		"Everywhere": {
			reason: "The same, for what holds in all namespaces.", place: everywhere, kept: all, refused: watching,
			change:   func(s *server) { s.revoke(everywhere, all...) },
			requests: []Access{{}}, want: Denied,
		},
		"EverywhereContradicted": {
			reason: "Nothing has changed.", place: everywhere, kept: all, refused: watching,
			requests: []Access{{}, watching}, want: Allowed,
		},
		"NameNotKept": {
			reason: "What nobody keeps is confirmed too, and remembered.", place: team, kept: all, refused: name,
			change:   func(s *server) { s.set(func() { put(s.forbidden, team, []Access{name}, true) }) },
			requests: []Access{{}, name}, want: Denied,
		},
		"NotKeptEverywhere": {
			reason: "Likewise.", place: everywhere, kept: all, refused: name,
			requests: []Access{{}, name}, want: Denied,
		},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			inBubble(t, Options{}, func(b *bench) {
				b.server.grant(c.place, all...)
				sub := newListener()
				b.reviewer.Require(sub, c.place, c.kept, Payer{})
				b.pass(time.Minute)
				sub.take()
				if c.change != nil {
					c.change(b.server)
				}
				n := b.server.count()
				b.reviewer.ReportDenied(c.place, c.refused)
				b.pass(time.Millisecond)
				var got []Access
				for _, p := range b.server.since(n) {
					got = append(got, p.access)
				}
				expect(b, c.reason, c.requests, got)
				expect(b, c.reason, c.want, b.reviewer.Decide(c.place, c.refused))
				if len(sub.take()) == 0 {
					b.Error("not told")
				}
			})
		})
	}
}

func TestRefusedThatAgrees(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		sub := newListener()
		b.reviewer.Require(sub, team, all, Payer{})
		b.pass(30 * time.Second)
		sub.take()
		n := b.server.count()
		for range 100 {
			b.reviewer.ReportDenied(team, list)
			b.pass(time.Second)
		}
		if len(sub.take()) == 0 {
			b.Error("not told")
		}
		if got := most(b.server.since(n), time.Minute); got > 16 {
			b.Errorf("%d requests in a minute", got)
		}
	})
}

func TestRefusedWithANameIsForgotten(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		name := list
		name.Name = "a"
		b.server.grant(team, all...)
		b.server.set(func() { put(b.server.forbidden, team, []Access{name}, true) })
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(time.Second)
		n := b.server.count()
		for range 60 {
			b.reviewer.ReportDenied(team, name)
			b.pass(time.Second)
		}
		expect(b, "denied", Denied, b.reviewer.Decide(team, name))
		if got := most(b.server.since(n), time.Minute); got > 17 {
			b.Errorf("%d requests in a minute", got)
		}
		b.pass(10 * time.Second)
		n = b.server.count()
		b.pass(time.Hour)
		expect(b, "nobody keeps it: no probes", n, b.server.count())
		expect(b, "and it is what the rules say", Allowed, b.reviewer.Decide(team, name))
	})
}

func TestRefusedForAnotherReason(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, all...)
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(time.Second)
		n := b.server.count()
		for range 1000 { // a quota, and many owners
			b.reviewer.ReportDenied(team, create)
			b.pass(10 * time.Millisecond)
		}
		if got := len(b.server.since(n)); got > 45 {
			b.Errorf("%d requests in 10 s", got)
		}
		b.server.revoke(team, create)
		b.reviewer.ReportDenied(team, create)
		b.pass(600 * time.Millisecond)
		expect(b, "a real refusal is not missed", Denied, b.reviewer.Decide(team, create))
	})
}

func TestContradictionIsFollowed(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, all...)
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.server.set(func() { put(b.server.forbidden, team, all[:1], true) })
		b.pass(time.Second)
		b.reviewer.ReportDenied(team, list)
		b.pass(time.Minute)
		expect(b, "denied against the rules", Denied, b.reviewer.Decide(team, list))
		expect(b, "the others", Allowed, b.reviewer.Decide(team, create))
		if got := most(b.server.since(5), time.Minute); got > 16 {
			b.Errorf("%d requests in a minute", got)
		}
		b.server.set(func() { put(b.server.forbidden, team, all[:1], false) })
		b.pass(9100 * time.Millisecond)
		expect(b, "allowed again", Allowed, b.reviewer.Decide(team, list))
		b.pass(10 * time.Second)
		n := b.server.count()
		b.pass(time.Hour)
		expect(b, "then quiet", n, b.server.count())
	})
}

func TestRulesThatDoNotShowAll(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.incomplete[team] = true
		b.server.grant(team, list)
		b.server.set(func() { put(b.server.hidden, team, []Access{watching}, true) })
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(time.Millisecond)
		expect(b, "rules, and what they do not allow", 3, b.server.count())
		expect(b, "hidden", Allowed, b.reviewer.Decide(team, watching))
		expect(b, "denied", Denied, b.reviewer.Decide(team, create))
		expect(b, "reviewed", true, b.reviewer.State(team).Reviewed)
		b.pass(10 * time.Second)
		b.server.set(func() { put(b.server.hidden, team, all, true) })
		b.pass(9100 * time.Millisecond)
		expect(b, "granted where rules do not show it", Allowed, b.reviewer.Decide(team, create))
		b.pass(10 * time.Second)
		n := b.server.count()
		b.pass(time.Hour)
		expect(b, "quiet", n, b.server.count())
		b.server.set(func() { put(b.server.hidden, team, all, false) })
		b.reviewer.Invalidate("team")
		b.pass(100 * time.Millisecond)
		expect(b, "revoked where rules do not show it", Denied, b.reviewer.Decide(team, create))
		expect(b, "still in the rules", Allowed, b.reviewer.Decide(team, list))
	})
}

func TestIdentityRefused(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, "x", errors.New("cannot impersonate"))
	for _, at := range []Key{team, everywhere} {
		for title, err := range map[string]error{"401": errNobody, "403": forbidden} {
			t.Run(fmt.Sprintf("%s in %q", title, at.Namespace), func(t *testing.T) {
				inBubble(t, Options{}, func(b *bench) {
					b.server.grant(at, all...)
					sub := newListener()
					b.reviewer.Require(sub, at, all, Payer{})
					b.pass(time.Second)
					sub.take()
					b.server.set(func() { b.server.err = err })
					b.reviewer.ReportDenied(at, list)
					b.pass(time.Millisecond)
					state := b.reviewer.State(at)
					if !errors.Is(state.Refusal, err) || !state.Reviewed {
						b.Errorf("state is %+v", state)
					}
					expect(b, "told", map[Key]int{at: 1}, sub.take())
					expect(b, "nothing is known", Unknown, b.reviewer.Decide(at, list))
					b.pass(5 * time.Minute)
					if got := most(b.server.since(4), time.Minute); got > 16 {
						b.Errorf("%d requests in a minute", got)
					}
					expect(b, "same generation", state.Generation, b.reviewer.State(at).Generation)
					expect(b, "told of what is not new", map[Key]int{}, sub.take())
					b.server.set(func() { b.server.err = nil })
					b.pass(4600 * time.Millisecond)
					expect(b, "back", Allowed, b.reviewer.Decide(at, create))
					expect(b, "no refusal", nil, b.reviewer.State(at).Refusal)
					expect(b, "told", map[Key]int{at: 1}, sub.take())
				})
			})
		}
	}
}

func TestFailedReviews(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, list)
		sub := newListener()
		b.reviewer.Require(sub, team, all, Payer{})
		b.pass(500 * time.Millisecond)
		before := b.reviewer.State(team)
		sub.take()
		b.server.set(func() { b.server.err = errBusy })
		n := b.server.count()
		b.pass(90 * time.Second)
		expect(b, "what was known stays", Allowed, b.reviewer.Decide(team, list))
		expect(b, "state", before, b.reviewer.State(team))
		expect(b, "told", map[Key]int{}, sub.take())
		if got := len(b.server.since(n)); got < 7 || got > 10 {
			b.Errorf("%d requests: %v", got, times(b.server.since(n)))
		}
		b.server.set(func() { b.server.err = nil })
		b.server.grant(team, all...)
		b.reviewer.Invalidate("team")
		b.pass(100 * time.Millisecond)
		expect(b, "a hint does not wait for the backoff", Allowed, b.reviewer.Decide(team, create))
	})
}

func TestFirstReviewFails(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.set(func() { b.server.err = errBusy })
		for _, at := range []Key{team, everywhere} {
			b.server.grant(at, all...)
			b.reviewer.Require(newListener(), at, all, Payer{})
		}
		b.pass(10 * time.Second)
		expect(b, "no answer", State{}, b.reviewer.State(team))
		b.server.set(func() { b.server.err = nil })
		b.pass(16 * time.Second)
		expect(b, "namespace", Allowed, b.reviewer.Decide(team, list))
		expect(b, "everywhere", Allowed, b.reviewer.Decide(everywhere, create))
		n := b.server.count()
		b.pass(time.Hour)
		expect(b, "quiet", n, b.server.count())
	})
}
