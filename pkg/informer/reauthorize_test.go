package informer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// watchesOnly checks that nothing but a watch that goes on where it was has been
// asked for, and returns how many.
func watchesOnly(t *testing.T, api *server) int {
	t.Helper()
	requests := api.take()
	for _, r := range requests {
		expect(t, "kind of request", request{"watch", r.resourceVersion, false}, r)
	}
	return len(requests)
}

func TestVerify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.put(thing("a", "1"))
		s := testSet(map[string]*server{"ns": api}, Options{Reauthorize: true})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		expect(t, "start", events("Synced"), sub.take())
		expect(t, "a list", []request{{"watch", "", true}}, api.take())
		if limit := api.limits()[0]; limit < 5*time.Minute {
			t.Errorf("the watch that brings the list is cut off after %v", limit)
		}
		time.Sleep(time.Minute)
		if n := watchesOnly(t, api); n < 14 || n > 20 {
			t.Errorf("%d watches in a minute", n)
		}
		for _, limit := range api.limits()[1:] {
			if limit != 3*time.Second && limit != 4*time.Second {
				t.Errorf("a watch was asked for with %v", limit)
			}
		}
		expect(t, "counted", uint64(len(api.limits())-1), s.CountReopened())
		expect(t, "told", events(), sub.take())
		expect(t, "state", Live, view.State())

		api.fails(statusError(403, "Forbidden"))
		time.Sleep(4 * time.Second)
		expect(t, "revoked", events("StateChanged Forbidden"), sub.take())
		expect(t, "objects", 0, len(view.List()))
		expect(t, "plans left", 0, s.env.requests.PlannedEnds())
	})
}

func TestVerifyTurnedOnAndOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns")})
		time.Sleep(time.Minute)
		sub.take()
		api.take()
		s.Reauthorize(true)
		s.Reauthorize(true)
		time.Sleep(4 * time.Second)
		expect(t, "the open watch is opened again", 1, watchesOnly(t, api))
		time.Sleep(8 * time.Second)
		expect(t, "and then others", true, watchesOnly(t, api) >= 2)
		s.Reauthorize(false)
		time.Sleep(4 * time.Second)
		watchesOnly(t, api)
		time.Sleep(time.Minute)
		expect(t, "turned off", 0, watchesOnly(t, api))

		s.Reauthorize(true)
		s.Reauthorize(false)
		time.Sleep(10 * time.Second)
		expect(t, "turned off before its end came", 0, watchesOnly(t, api))
		s.Reauthorize(true)
		s.Reauthorize(false)
		s.Reauthorize(true)
		time.Sleep(4 * time.Second)
		expect(t, "planned once", 1, watchesOnly(t, api))
		expect(t, "told", events(), sub.take())
	})
}

// TestVerifyDuringTheList: a first list that takes long is not cut off, and not
// right after it either.
func TestVerifyDuringTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.slow = make(chan struct{})
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns")})
		time.Sleep(10 * time.Second)
		s.Reauthorize(true)
		time.Sleep(time.Minute)
		expect(t, "told", events(), sub.take())
		close(api.slow)
		expect(t, "told", events("Synced"), sub.take())
		expect(t, "requests", []request{{"watch", "", true}}, api.take())
		time.Sleep(2*time.Second - 1) // the earliest that it would end by itself
		expect(t, "not yet", 0, watchesOnly(t, api))
		time.Sleep(2 * time.Second)
		expect(t, "opened again", 1, watchesOnly(t, api))
	})
}

func TestVerifyKeepsTheCeiling(t *testing.T) {
	cases := map[string]struct {
		reason           string
		streams          int
		shortest, period time.Duration
	}{
		"Some": {"within the ceiling", 200, 3 * time.Second, 5 * time.Second},
		"Many": {"stretched", 600, 9 * time.Second, 12 * time.Second},
	}
	for name, c := range cases {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(name, late), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { ceilingStory(t, c.streams, late, c.shortest, c.period) })
			})
		}
	}
}

func ceilingStory(t *testing.T, streams int, late bool, shortest, period time.Duration) {
	api := newServer()
	servers := map[string]*server{}
	var needs []Interest
	for i := range streams {
		namespace := fmt.Sprint("ns-", i)
		servers[namespace] = api
		needs = append(needs, needOf(namespace))
	}
	s := testSet(servers, Options{Reauthorize: !late})
	stop := begin(t, s)
	s.Require(&recorder{}, needs)
	synctest.Wait()
	if late {
		time.Sleep(time.Minute)
		s.Reauthorize(true)
	}
	api.take()
	for second := range 60 {
		before := s.CountReopened()
		time.Sleep(time.Second)
		if n := s.CountReopened() - before; n > 61 {
			t.Errorf("%d watches opened again in second %d", n, second)
		}
	}
	watchesOnly(t, api)
	expect(t, "all are opened", true, s.CountReopened() >= uint64(streams)*uint64(time.Minute/period))
	limits := api.limits()
	for _, limit := range limits[len(limits)-streams:] {
		if limit < shortest || limit > period {
			t.Errorf("at last, a watch was asked for with %v", limit)
		}
	}
	stop()
	expect(t, "plans left", 0, s.env.requests.PlannedEnds())
}

// TestRecheck: a watch is opened again where it is, once, though informers are not
// verified; if it is refused, the right is gone.
func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, other := newServer(), newServer()
		s := testSet(map[string]*server{"ns": mine, "other": other}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns"), needOf("other")})[0]
		time.Sleep(time.Minute)
		sub.take()
		mine.take()
		other.take()
		s.ExpireWatches(func(key Key) bool { return key.Namespace == "ns" })
		s.ExpireWatches(func(key Key) bool { return key.Namespace == "ns" })
		time.Sleep(4 * time.Second)
		expect(t, "opened again", 1, watchesOnly(t, mine))
		expect(t, "told", events(), sub.take())
		time.Sleep(time.Minute)
		expect(t, "once", 0, watchesOnly(t, mine))
		expect(t, "the other one", 0, watchesOnly(t, other))

		mine.fails(statusError(403, "Forbidden"))
		s.ExpireWatches(func(Key) bool { return true })
		time.Sleep(4 * time.Second)
		expect(t, "state", Forbidden, view.State())
		expect(t, "plans left", 0, s.env.requests.PlannedEnds())
	})
}

// TestRecheckWhileOpening: what was permitted before the recheck, and is answered, or has
// brought its list, after it, is opened again as well.
func TestRecheckWhileOpening(t *testing.T) {
	for _, listing := range []bool{false, true} {
		t.Run(fmt.Sprint(listing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, hold := newServer(), make(chan struct{})
				if api.block = hold; listing {
					api.block, api.slow = nil, hold
				}
				s := testSet(map[string]*server{"ns": api}, Options{})
				defer begin(t, s)()
				view := s.Require(&recorder{}, []Interest{needOf("ns")})[0]
				time.Sleep(time.Second)
				api.fails(statusError(403, "Forbidden")) // from here on; the request was let through
				s.ExpireWatches(func(Key) bool { return true })
				close(hold)
				time.Sleep(time.Second)
				expect(t, "the old answer", Live, view.State())
				time.Sleep(3 * time.Second)
				expect(t, "the new one", Forbidden, view.State())
				expect(t, "plans left", 0, s.env.requests.PlannedEnds())
			})
		})
	}
}
