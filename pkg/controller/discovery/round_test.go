package discovery

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// rounds counts those that begin during some time, of the bubble's clock.
func rounds(server *fakeServer, during time.Duration) int {
	synctest.Wait()
	before := server.count()
	time.Sleep(during)
	synctest.Wait()
	return server.count() - before
}

func invented(i int) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Thing"}
}

// TestRounds: whatever asks for kinds, a round answers all of them, rounds are bounded, and a
// kind that is looked up lazily is asked about more and more rarely. RefreshAll has all asked about
// at once.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := New(server.options())
		run(t, c)
		for i := range lazyKinds {
			c.LookupLazily(invented(i))
		}
		if n := rounds(server, 20*time.Second); n > 10 || len(server.last()) != lazyKinds {
			t.Errorf("%d kinds that are looked up lazily: %d rounds in 20 s, the last of %d kinds", lazyKinds, n, len(server.last()))
		}
		if n := rounds(server, time.Hour); n > 20 {
			t.Errorf("%d rounds in an hour", n)
		}
		c.LookupLazily(thing)
		c.LookupKind(thing)
		if n := rounds(server, 20*time.Second); n < 5 || n > 7 {
			t.Errorf("a kind that is looked up in earnest as well: %d rounds in 20 s", n)
		}
		c.ReleaseUnneeded([]schema.GroupVersionKind{thing}, func() []schema.GroupVersionKind { return nil })
		rounds(server, 10*time.Second)
		before := server.count()
		c.RefreshAll()
		if synctest.Wait(); server.count() != before+1 {
			t.Errorf("Refresh: %d rounds at once", server.count()-before)
		}
		before = server.count()
		for i := range 2000 { // as a record that is changed a hundred times a second
			c.LookupKind(invented(10_000 + i))
			time.Sleep(10 * time.Millisecond)
		}
		if n := server.count() - before; n > 45 {
			t.Errorf("new kinds all the time: %d rounds in 20 s", n)
		}
	})
}

// TestManyLazyKinds: what is asked in some time does not grow with the kinds that records name.
// All of them are asked about in turns, one without an answer goes first, and so does one that is
// looked up in earnest.
func TestManyLazyKinds(t *testing.T) {
	const kinds, minutes = 5_000, 6
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := New(server.options())
		for i := range kinds {
			c.LookupLazily(invented(i))
		}
		for range kinds / lazyKinds {
			c.PollRound(t.Context())
		}
		run(t, c)
		server.forget()
		n := rounds(server, minutes*time.Minute)
		if most := int(minutes*time.Minute/lazyTurn) + 1; n > most || server.mostKinds() > lazyKinds {
			t.Errorf("%d rounds in %d minutes, want up to %d; one of %d kinds", n, minutes, most, server.mostKinds())
		}
		if left := kinds - server.distinct(); left != 0 {
			t.Errorf("%d kinds were not asked about", left)
		}
		c.LookupKind(thing)
		if synctest.Wait(); !slices.Contains(server.last(), thing.GroupKind()) {
			t.Error("a kind that is looked up in earnest waits for the others")
		}
		c.LookupLazily(invented(kinds))
		time.Sleep(lazyApart)
		synctest.Wait()
		if _, _, err := c.LookupKnown(invented(kinds)); err == nil {
			t.Error("a new kind waits for those that were answered")
		}
		server.serve(invented(0).GroupKind(), mapping(invented(0), things(invented(0))))
		time.Sleep(minutes * time.Minute)
		if _, known, _ := c.LookupKnown(invented(0)); !known {
			t.Error("one that is served at last is not found")
		}
	})
}

// TestAnyVersionIsLazy: a kind that is needed in any version only is asked about as rarely as
// others that records name.
func TestAnyVersionIsLazy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		server.serve(thing.GroupKind(), mapping(thingBeta, things(thingBeta)))
		c := New(server.options())
		run(t, c)
		c.LookupLazily(thing)
		synctest.Wait()
		if _, ok := c.LookupAnyVersion(thing); !ok {
			t.Error("the other version is not found")
		}
		if n := rounds(server, time.Hour); n > 20 {
			t.Errorf("%d rounds in an hour", n)
		}
	})
}

// TestRoundTimes: when the rounds about one kind begin, in seconds after it was looked up.
func TestRoundTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		look   func(*Cache)
		silent bool
		want   []time.Duration
	}{
		"Wanted":       {"somebody waits for it", func(c *Cache) { c.LookupKind(thing) }, false, []time.Duration{0, 1, 3, 7, 11, 15, 19}},
		"Silent":       {"it may be there", func(c *Cache) { c.LookupKind(thing) }, true, []time.Duration{0, 1, 3, 7, 11, 15, 19}},
		"Lazily":       {"hardly anybody does", func(c *Cache) { c.LookupLazily(thing) }, false, []time.Duration{0, 1, 3, 7, 15}},
		"LazilySilent": {"it is not known to be unserved", func(c *Cache) { c.LookupLazily(thing) }, true, []time.Duration{0, 1, 3, 7, 11, 15, 19}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &fakeServer{silent: tc.silent}
				c := New(server.options())
				run(t, c)
				tc.look(c)
				var times []time.Duration
				for second := range time.Duration(20) {
					synctest.Wait()
					before := len(times)
					for range server.count() - before {
						times = append(times, second)
					}
					time.Sleep(time.Second)
				}
				if diff := cmp.Diff(tc.want, times); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestLazyShares: kinds that are looked up lazily within a second share a round; one that is
// looked up in earnest waits for nobody.
func TestLazyShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		c := New(server.options())
		run(t, c)
		c.LookupLazily(invented(0))
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		for i := range 5 {
			c.LookupLazily(invented(1 + i))
			synctest.Wait()
		}
		if server.count() != 1 {
			t.Errorf("%d rounds before the second is over", server.count())
		}
		c.LookupKind(thing)
		if synctest.Wait(); server.count() != 2 || len(server.last()) != 7 {
			t.Errorf("%d rounds, the last of %d kinds, want all in the second", server.count(), len(server.last()))
		}
	})
}

// TestQuestionsAreSorted: a round asks about each kind once, in a stable order.
func TestQuestionsAreSorted(t *testing.T) {
	server := &fakeServer{}
	c := New(server.options())
	for _, i := range []int{3, 1, 2} {
		c.LookupKind(invented(i))
	}
	c.LookupKind(thing)
	c.LookupKind(thingBeta)
	c.PollRound(t.Context())
	want := []schema.GroupKind{thing.GroupKind(), invented(1).GroupKind(), invented(2).GroupKind(), invented(3).GroupKind()} // by group
	if diff := cmp.Diff(want, server.last()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLookupKindsInOneRound: kinds that are looked up together are asked about together, however
// soon the round begins after the first.
func TestLookupKindsInOneRound(t *testing.T) {
	server := &fakeServer{}
	options := server.options()
	options.Clock = slowClock{}
	c := New(options)
	var kinds []schema.GroupVersionKind
	for i := range 5 {
		kinds = append(kinds, invented(i))
	}
	round := make(chan bool)
	go func() {
		defer close(round)
		if c.WaitForRound(t.Context()) {
			c.PollRound(t.Context())
		}
	}()
	if c.LookupKinds(kinds) {
		t.Error("kinds are said to be answered before the first round")
	}
	<-round
	if got := len(server.last()); got != len(kinds) {
		t.Errorf("the first round asks about %d kinds, want all %d", got, len(kinds))
	}
	if !c.LookupKinds(kinds) {
		t.Error("kinds are said not to be answered after the first round")
	}
	if c.LookupKinds(append(kinds, thing)) {
		t.Error("all kinds are said to be answered where one is new")
	}
}

// slowClock gives whoever waits for what its reader is about to do the time to go ahead.
type slowClock struct{ clock.RealClock }

func (c slowClock) Now() time.Time {
	time.Sleep(5 * time.Millisecond)
	return c.RealClock.Now()
}

// TestWait: it ends with its context, whether something is due, will be, or nothing is.
func TestWait(t *testing.T) {
	for name, prepare := range map[string]func(*Cache){
		"Nothing": func(*Cache) {},
		"Due":     func(c *Cache) { c.LookupKind(thing) },
		"Later":   func(c *Cache) { c.LookupKind(thing); c.PollRound(context.Background()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New((&fakeServer{}).options())
			prepare(c)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			for c.WaitForRound(ctx) {
				if ctx.Err() != nil {
					t.Errorf("%s: it says that a round is due after the end", name)
				}
				c.PollRound(ctx)
				time.Sleep(time.Second)
			}
		})
	}
}

// TestRoundPace: as many rounds at once as the burst has, then one every roundEvery, and after a
// while without any the whole burst again.
func TestRoundPace(t *testing.T) {
	now := time.Unix(1000, 0)
	var p roundPace
	for range roundBurst {
		if p.nextRound().After(now) {
			t.Fatal("the burst is too small")
		}
		p.beginRound(now)
	}
	for i := range 5 {
		if wait := p.nextRound().Sub(now); wait != roundEvery {
			t.Errorf("round %d after the burst: it waits %s", i, wait)
		}
		now = now.Add(roundEvery)
		p.beginRound(now)
	}
	now = now.Add(roundBurst * roundEvery)
	for range roundBurst {
		if p.nextRound().After(now) {
			t.Error("the burst is not there again")
		}
		p.beginRound(now)
	}
}

// TestRetry: the wait grows with each answer that was due, and not with one that came early.
func TestRetry(t *testing.T) {
	now := time.Unix(1000, 0)
	r := newRetry(now)
	for i, want := range []time.Duration{1, 2, 4, 4} {
		now = r.due
		if r.postponeRetry(now, backoffMax); r.due.Sub(now) != want*time.Second {
			t.Errorf("answer %d: it is due after %s", i, r.due.Sub(now))
		}
	}
	r = newRetry(now)
	r.postponeRetry(now, backoffMax)
	r.postponeRetry(now, backoffMax) // with another kind's round
	if r.due.Sub(now) != 2*time.Second || r.wait != 2*time.Second {
		t.Errorf("early: due after %s, then %s", r.due.Sub(now), r.wait)
	}
}
