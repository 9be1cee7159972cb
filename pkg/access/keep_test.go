package access

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestForget(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		one, two := newListener(), newListener()
		b.reviewer.Require(one, team, all, Payer{})
		b.reviewer.Require(two, team, []Access{list}, Payer{})
		b.pass(10 * time.Second)
		first := b.reviewer.State(team).Generation
		b.reviewer.Require(one, team, nil, Payer{})
		b.pass(time.Second)
		expect(b, "the other still keeps it", Denied, b.reviewer.Decide(team, list))
		b.reviewer.Require(two, team, nil, Payer{})
		expect(b, "places", 0, len(b.reviewer.places))
		expect(b, "state", State{}, b.reviewer.State(team))
		expect(b, "decision", Unknown, b.reviewer.Decide(team, list))
		one.take()
		two.take()
		n := b.server.count()
		b.reviewer.Invalidate("")
		b.reviewer.ReportDenied(team, list)
		b.pass(time.Hour)
		expect(b, "requests", n, b.server.count())
		expect(b, "told", map[Key]int{}, one.take())
		b.reviewer.Require(one, team, all, Payer{})
		b.pass(time.Millisecond)
		if again := b.reviewer.State(team).Generation; again <= first {
			b.Errorf("generation %d after %d", again, first)
		}
	})
}

func TestForgetUnderWay(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.delay = func(Key) time.Duration { return time.Second }
		sub := newListener()
		b.reviewer.Require(sub, team, all, Payer{})
		b.pass(500 * time.Millisecond)
		b.reviewer.Require(sub, team, nil, Payer{})
		b.pass(time.Minute)
		expect(b, "requests", 1, b.server.count())
		expect(b, "told", map[Key]int{}, sub.take())
		expect(b, "places", 0, len(b.reviewer.places))
	})
}

func TestKeepMore(t *testing.T) {
	patch := Access{Verb: "patch", Resource: "pods"}
	cases := map[string]struct {
		reason   string
		place    Key
		after    time.Duration
		grant    []Access
		more     Access
		requests int
		known    bool // at once
	}{
		"Cached":     {reason: "The rules allow it.", place: team, grant: append([]Access{patch}, all...), after: time.Hour, more: patch, requests: 0, known: true},
		"NewDenial":  {reason: "An answer of a moment ago counts.", place: team, grant: all, after: 500 * time.Millisecond, more: patch, requests: 0, known: true},
		"OldDenial":  {reason: "Nobody has looked since.", place: team, grant: all, after: time.Hour, more: patch, requests: 1},
		"Everywhere": {reason: "Nobody has looked since.", place: everywhere, grant: all, after: time.Hour, more: patch, requests: 1},
		"Again":      {reason: "Somebody else keeps it.", place: everywhere, grant: all, after: time.Hour, more: list, requests: 0, known: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(b *bench) {
				b.server.grant(c.place, c.grant...)
				b.reviewer.Require(newListener(), c.place, all, Payer{})
				b.pass(c.after)
				n := b.server.count()
				// No answer comes before the state is asked for.
				b.server.set(func() { b.server.delay = func(Key) time.Duration { return time.Millisecond } })
				b.reviewer.Require(newListener(), c.place, []Access{c.more}, Payer{})
				expect(b, c.reason, c.known, b.reviewer.State(c.place).Reviewed)
				b.pass(time.Millisecond)
				expect(b, c.reason, c.requests, len(b.server.since(n)))
				expect(b, "reviewed", true, b.reviewer.State(c.place).Reviewed)
			})
		})
	}
}

func TestKeepManyWhileUnderWay(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.grant(team, all...)
		b.server.delay = func(Key) time.Duration { return 100 * time.Millisecond }
		subs := []*listener{}
		for _, a := range all {
			subs = append(subs, newListener())
			b.reviewer.Require(subs[len(subs)-1], team, []Access{a}, Payer{})
			b.pass(time.Millisecond)
		}
		b.pass(time.Second)
		expect(b, "one request answers all", 1, b.server.count())
		for _, sub := range subs {
			expect(b, "told", map[Key]int{team: 1}, sub.take())
		}
	})
}

// TestReleaseEndsTheWait: one subscriber waits for what another wanted, and does not
// want any more.
func TestReleaseEndsTheWait(t *testing.T) {
	inBubble(t, Options{Ceiling: 1}, func(b *bench) {
		b.server.incomplete[everywhere] = true
		one, two := newListener(), newListener()
		b.reviewer.Require(one, everywhere, []Access{list}, Payer{})
		b.reviewer.Require(two, everywhere, []Access{watching}, Payer{})
		b.pass(1050 * time.Millisecond)
		expect(b, "reviewed", false, b.reviewer.State(everywhere).Reviewed)
		b.reviewer.Require(two, everywhere, nil, Payer{})
		b.pass(time.Millisecond)
		expect(b, "reviewed", true, b.reviewer.State(everywhere).Reviewed)
		expect(b, "told", map[Key]int{everywhere: 1}, one.take())
	})
}

func TestSlowPlacesHoldUpNobody(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		b.server.delay = func(at Key) time.Duration {
			if at.Identity == "slow" {
				return time.Hour // until the request is given up
			}
			return 0
		}
		for i := range together - 1 {
			b.reviewer.Require(newListener(), Key{"slow", fmt.Sprint(i)}, all, Payer{})
		}
		b.pass(time.Second)
		b.reviewer.Require(newListener(), team, all, Payer{})
		b.pass(time.Second)
		expect(b, "reviewed", true, b.reviewer.State(team).Reviewed)
		b.pass(9 * time.Second)
		expect(b, "given up after ten seconds", 0, len(b.reviewer.places[Key{"slow", "0"}].subs)-1)
		if b.reviewer.places[Key{"slow", "0"}].failures != 1 {
			b.Error("a request without an answer is not given up after 10 s")
		}
	})
}

func TestManyPlacesAreIdle(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		synctest.Wait() // until all runs
		before := runtime.NumGoroutine()
		sub := newListener()
		for i := range 500 {
			at := Key{Namespace: fmt.Sprint(i)}
			b.server.grant(at, all...)
			b.reviewer.Require(sub, at, all, Payer{})
		}
		b.pass(time.Minute)
		expect(b, "requests", 500, b.server.count())
		expect(b, "places told of", 500, len(sub.take()))
		after := runtime.NumGoroutine()
		for tries := 0; after > before && tries < 100; tries++ {
			runtime.GC() // takes its time; one that has ended, or runs finalizers, is counted for a moment
			after = runtime.NumGoroutine()
		}
		if after > before {
			b.Errorf("%d goroutines, %d before", after, before)
		}
	})
}

func TestNoClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{Reviews: func(string) (Reviews, error) { return nil, errors.New("no such identity") }})
		ended := make(chan error)
		go func() { ended <- r.Start(t.Context()) }()
		r.Require(newListener(), team, all, Payer{})
		time.Sleep(time.Minute)
		expect(t, "state", State{}, r.State(team))
		expect(t, "requests", uint64(0), r.CountRequests())
		if err := r.Start(t.Context()); err == nil {
			t.Error("started twice")
		}
		t.Cleanup(func() {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	})
}

// TestNames: an access without a name depends on names that rules have.
func TestNames(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		a := list
		a.Name = "a"
		b.server.grant(team, a)
		b.reviewer.Require(newListener(), team, []Access{list, a}, Payer{})
		b.pass(time.Millisecond)
		expect(b, "without a name", Unknown, b.reviewer.Decide(team, list))
		expect(b, "with it", Allowed, b.reviewer.Decide(team, a))
		expect(b, "reviewed", true, b.reviewer.State(team).Reviewed)
		n := b.server.count()
		b.pass(time.Minute)
		expect(b, "that is no denial", n, b.server.count())
		b.reviewer.ReportDenied(team, list)
		b.pass(time.Millisecond)
		expect(b, "until a request is refused", Denied, b.reviewer.Decide(team, list))
	})
}
