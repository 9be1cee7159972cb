package access

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

func TestReviewOfNamespace(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, list)
		b.server.delay = func(Key) time.Duration { return time.Millisecond }
		sub := newListener()
		b.reviewer.Require(sub, team, all, Payer{})
		expect(b, "before", Unknown, b.reviewer.Decide(team, list))
		expect(b, "before", State{}, b.reviewer.State(team))
		b.pass(time.Millisecond)
		expect(b, "one request", 1, b.server.count())
		expect(b, "granted", Allowed, b.reviewer.Decide(team, list))
		expect(b, "not granted", Denied, b.reviewer.Decide(team, create))
		expect(b, "told once", map[Key]int{team: 1}, sub.take())
		state := b.reviewer.State(team)
		expect(b, "reviewed", true, state.Reviewed)
		expect(b, "probes", uint64(1), b.reviewer.CountRequests())
	})
}

// TestDecideAll: of several accesses it is said at one moment whether all are allowed, and which are denied.
func TestDecideAll(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		expectAll := func(reason string, want Decision, denied ...Access) {
			b.Helper()
			got, missing, state := b.reviewer.DecideAll(team, all)
			expect(b, reason, want, got)
			expect(b, reason, denied, missing)
			expect(b, reason, b.reviewer.State(team), state)
		}
		b.server.grant(team, all...)
		b.server.delay = func(Key) time.Duration { return time.Millisecond }
		expectAll("nobody asks", Unknown)
		b.reviewer.Require(newListener(), team, all, Payer{})
		expectAll("before the answer", Unknown)
		b.pass(time.Millisecond)
		expectAll("all are granted", Allowed)
		b.server.revoke(team, list, create)
		b.reviewer.ReportDenied(team, create)
		b.pass(time.Second)
		expectAll("two are revoked", Denied, list, create)
		b.server.set(func() { b.server.err = errNobody })
		b.reviewer.ReportDenied(team, create)
		b.pass(time.Second)
		expectAll("the identity is refused", Unknown)
	})
}

// TestDecideAllOfNames: what is denied counts before what depends on a name.
func TestDecideAllOfNames(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		named := list
		named.Name = "a"
		b.server.grant(team, named)
		asked := []Access{list, create, named}
		b.reviewer.Require(newListener(), team, asked, Payer{})
		b.pass(time.Second)
		decision, denied, _ := b.reviewer.DecideAll(team, asked)
		expect(b, "decision", Denied, decision)
		expect(b, "denied", []Access{create}, denied)
	})
}

// TestDecideAllAtOnce: of an answer that comes while it is read what is known, all counts or nothing.
func TestDecideAllAtOnce(t *testing.T) {
	const answers = 20000
	inBubble(t, Options{}, func(b *bench) {
		both := []Access{list, create}
		b.reviewer.Require(newListener(), team, both, Payer{})
		b.pass(time.Second)
		answer := func(granted Access) {
			b.reviewer.mu.Lock()
			defer b.reviewer.mu.Unlock()
			b.reviewer.places[team].applyRules(time.Now(), Rules{Items: []authorizationv1.ResourceRule{
				rule([]string{granted.Verb}, []string{granted.Group}, []string{granted.Resource}, nil),
			}})
		}
		answer(list)
		var running sync.WaitGroup
		var hasEnded atomic.Bool
		running.Go(func() {
			for i := range answers {
				answer(both[i%2])
			}
			hasEnded.Store(true)
		})
		seen := map[uint64][]Access{}
		for !hasEnded.Load() {
			_, denied, state := b.reviewer.DecideAll(team, both)
			if before, ok := seen[state.Generation]; len(denied) != 1 || ok && before[0] != denied[0] {
				b.Errorf("generation %d: %v are denied, and were %v", state.Generation, denied, before)
				break
			}
			seen[state.Generation] = denied
		}
		running.Wait()
	})
}

func TestReviewEverywhere(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		named := Access{Verb: "get", Resource: "pods"}
		one := named
		one.Name = "one"
		b.server.grant(everywhere, list, watching, one)
		b.server.grant(Key{Namespace: "x"}, create)
		sub := newListener()
		b.reviewer.Require(sub, everywhere, append([]Access{named, one}, all...), Payer{})
		b.pass(time.Millisecond)
		expect(b, "the rules, and what depends on a name", 2, b.server.count())
		expect(b, "granted", Allowed, b.reviewer.Decide(everywhere, watching))
		expect(b, "not granted everywhere", Denied, b.reviewer.Decide(everywhere, create))
		expect(b, "granted for one name", Allowed, b.reviewer.Decide(everywhere, one))
		expect(b, "not granted for all", Denied, b.reviewer.Decide(everywhere, named))
		expect(b, "told once", map[Key]int{everywhere: 1}, sub.take())
		b.pass(10 * time.Second)
		b.server.grant(everywhere, create)
		b.server.revoke(everywhere, list)
		b.pass(9100 * time.Millisecond)
		expect(b, "a revoked one", Denied, b.reviewer.Decide(everywhere, list))
		expect(b, "a granted one", Allowed, b.reviewer.Decide(everywhere, create))
	})
}

func TestQuietWhileAllowed(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, all...)
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(time.Hour)
		expect(b, "requests", 1, b.server.count())
	})
}

func TestPaceWhileDenied(t *testing.T) {
	cases := map[string]struct {
		reason     string
		random     func(time.Duration) time.Duration
		triggered  bool
		incomplete bool
		place      Key
		atMost     int
		atLeast    int
	}{
		"Random":     {reason: "The usual pace.", place: team, atMost: 16, atLeast: 13},
		"Fast":       {reason: "The bound holds even if chance is against it.", random: none, place: team, atMost: 16, atLeast: 14},
		"Slow":       {reason: "A grant is seen within five seconds even so.", random: whole, place: team, atMost: 16, atLeast: 13},
		"Everywhere": {reason: "One request tells of all namespaces.", place: everywhere, atMost: 16, atLeast: 13},
		"Incomplete": {reason: "Rules and access reviews take turns.", incomplete: true, place: team, atMost: 16, atLeast: 13},
		"Triggered":  {reason: "Where RBAC objects are watched, two a minute.", random: none, triggered: true, place: team, atMost: 2, atLeast: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(b *bench) {
				if c.random != nil {
					b.reviewer.options.Jitter = c.random
				}
				b.server.incomplete[c.place] = c.incomplete
				b.reviewer.SetEventDriven(c.triggered)
				b.reviewer.Require(newListener(), c.place, all, Payer{})
				b.pass(5*time.Minute + 500*time.Millisecond)
				probes := b.server.since(0)
				if c.incomplete {
					for probes[1].at == 0 {
						probes = probes[1:] // the first review is more than one request
					}
				}
				if got := most(probes, time.Minute); got > c.atMost {
					b.Errorf("%s %d requests in a minute, at %v", c.reason, got, times(probes))
				}
				if got := len(probes); got < 5*c.atLeast {
					b.Errorf("%s only %d requests in five minutes, at %v", c.reason, got, times(probes))
				}
			})
		})
	}
}

func none(time.Duration) time.Duration    { return 0 }
func whole(n time.Duration) time.Duration { return n }

func TestGrantIsNoticed(t *testing.T) {
	for _, at := range []Key{team, everywhere} {
		t.Run(fmt.Sprintf("%q", at.Namespace), func(t *testing.T) {
			inBubble(t, Options{}, func(b *bench) {
				sub := newListener()
				b.reviewer.Require(sub, at, all, Payer{})
				b.pass(20 * time.Second)
				sub.take()
				before := b.reviewer.State(at)
				b.server.grant(at, all...)
				b.pass(4600 * time.Millisecond)
				for _, a := range all {
					expect(b, a.Verb, Allowed, b.reviewer.Decide(at, a))
				}
				if after := b.reviewer.State(at); after.Generation <= before.Generation {
					b.Errorf("generation %d after %d", after.Generation, before.Generation)
				}
				if len(sub.take()) == 0 {
					b.Error("not told")
				}
				n := b.server.count()
				b.pass(time.Hour)
				expect(b, "quiet after it", n, b.server.count())
			})
		})
	}
}

func TestCeiling(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		sub := newListener()
		const places = 300
		for i := range places {
			b.reviewer.Require(sub, Key{Namespace: fmt.Sprint(i)}, all, Payer{})
		}
		b.pass(time.Minute)
		last := map[Key]time.Duration{}
		for _, p := range b.server.since(0) {
			if gap := p.at - last[p.place]; gap > 25*time.Second {
				b.Errorf("place %v waited %v", p.place, gap)
			}
			last[p.place] = p.at
		}
		expect(b, "places that were reviewed", places, len(last))
		if got := most(b.server.since(0), time.Second); got > 20 {
			b.Errorf("%d requests in a second", got)
		}
		if got := b.server.count(); got < 60*15 {
			b.Errorf("only %d requests in a minute", got)
		}
		// An invalidation goes first.
		at := Key{Namespace: "7"}
		b.server.grant(at, all...)
		b.reviewer.Invalidate("7")
		b.pass(150 * time.Millisecond)
		expect(b, "after a hint", Allowed, b.reviewer.Decide(at, list))
		// So does a new key.
		b.reviewer.Require(sub, team, all, Payer{})
		b.pass(100 * time.Millisecond)
		expect(b, "new place", true, b.reviewer.State(team).Reviewed)
	})
}
