package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errTaken = errors.New("the right was taken away")

func all(Key) bool { return true }

func in(namespace string) func(Key) bool {
	return func(key Key) bool { return key.Namespace == namespace }
}

func TestRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, other := newServer(), newServer()
		api.put(thing("a", "1"))
		s := testSet(map[string]*server{"ns": api, "other": other}, Options{Retry: fixed(10 * time.Second)})
		defer begin(t, s)()
		sub, neighbour := &recorder{}, &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		s.Require(neighbour, []Interest{needOf("other")})
		sub.take()
		neighbour.take()
		api.take()
		epoch := view.Status().Epoch

		s.RevokeInformers(in("ns"), errTaken)
		status := view.Status()
		expect(t, "state at once", Forbidden, status.State)
		expect(t, "reason", "Forbidden", status.Reason)
		expect(t, "message", errTaken.Error(), status.Message)
		expect(t, "synced", false, status.Synced)
		expect(t, "objects", 0, len(view.List()))
		if !errors.Is(status.Err, errTaken) || status.Epoch <= epoch {
			t.Errorf("status: %+v", status)
		}
		expect(t, "told, and of no deletion", events("StateChanged Forbidden"), sub.take())
		expect(t, "the watch is closed", 0, len(api.copyWatches()))

		api.put(thing("b", "1"))
		s.RevokeInformers(in("ns"), errors.New("again"))
		expect(t, "told once", events(), sub.take())
		expect(t, "it stays as it was", errTaken.Error(), view.Status().Message)
		expect(t, "asked again", 0, len(api.take()))
		time.Sleep(10*time.Second + 1)
		expect(t, "after its backoff", events("Synced"), sub.take())
		expect(t, "with a whole list", []request{{"watch", "", true}}, api.take())
		expect(t, "objects", 2, len(view.List()))
		expect(t, "neighbour", events(), neighbour.take())
	})
}

func TestRevokeThenRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.put(thing("a", "1"))
		s := testSet(map[string]*server{"ns": api}, Options{Retry: fixed(time.Hour), Reconnect: fixed(time.Hour)})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		expect(t, "start", events("Synced"), sub.take())
		for range 50 {
			s.RevokeInformers(all, errTaken)
			s.Retry(needOf("ns").Key)
			expect(t, "told", events("StateChanged Forbidden", "Synced"), sub.take())
			expect(t, "state", Live, view.State())
			expect(t, "objects", 1, len(view.List()))
		}
		expect(t, "watches", 1, len(api.copyWatches()))
		for range 50 { // from between two attempts
			time.Sleep(time.Minute)
			api.fails(refused())
			api.end(nil)
			expect(t, "degraded", events("StateChanged Degraded"), sub.take())
			api.fails(nil)
			s.RevokeInformers(all, errTaken)
			s.Retry(needOf("ns").Key)
			expect(t, "told", events("StateChanged Forbidden", "Synced"), sub.take())
		}
	})
}

// TestHintAtTheEndOfAnEpoch: a hint that comes together with the end of an epoch
// is there for the next one.
func TestHintAtTheEndOfAnEpoch(t *testing.T) {
	s := testSet(nil, Options{})
	s.Require(&recorder{}, []Interest{needOf("ns")})
	st := s.informerOf(needOf("ns").Key)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		st.wakeUp()
		st.stream.waitOrWake(over, time.Hour)
		expect(t, "hints", 1, len(st.stream.woken))
	}
}

func TestRevokeByState(t *testing.T) {
	cases := map[string]struct {
		reason string
		harm   func(*server)
		want   State
		told   []string
	}{
		"Opening":     {"no answer yet", func(api *server) { api.block = make(chan struct{}) }, Forbidden, events("StateChanged Forbidden")},
		"Degraded":    {"it waits between attempts", func(api *server) { api.fails(refused()) }, Forbidden, events("StateChanged Degraded", "StateChanged Forbidden")},
		"Missing":     {"it is refused for another reason", func(api *server) { api.fails(statusError(404, "NotFound")) }, Missing, events("StateChanged Missing")},
		"FirstListIn": {"all is well", func(*server) {}, Forbidden, events("Synced", "StateChanged Forbidden")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newServer()
				c.harm(api)
				hour := fixed(time.Hour)
				s := testSet(map[string]*server{"ns": api}, Options{Reconnect: hour, Retry: hour, Lookup: hour})
				defer begin(t, s)()
				sub := &recorder{}
				view := s.Require(sub, []Interest{needOf("ns")})[0]
				synctest.Wait()
				s.RevokeInformers(all, errTaken)
				expect(t, c.reason, c.want, view.State())
				expect(t, "told", c.told, sub.take())
				expect(t, "requests under way", 0, api.flying())
				expect(t, "watches", 0, len(api.copyWatches()))
			})
		})
	}
}

// TestRevokeBeatsAnAttempt: what the API server answers to an attempt from before
// the proof counts for nothing.
func TestRevokeBeatsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.fails(statusError(403, "Forbidden"))
		s := testSet(map[string]*server{"ns": api}, Options{Retry: fixed(time.Minute)})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		expect(t, "refused", events("StateChanged Forbidden"), sub.take())
		before := view.Status()
		late := make(chan struct{})
		api.answer = func(request) error { <-late; return nil }
		s.Retry(needOf("ns").Key)
		synctest.Wait()
		expect(t, "attempts under way", 1, api.flying())
		s.RevokeInformers(all, errTaken)
		close(late)
		expect(t, "told", events(), sub.take())
		expect(t, "the refusal stays", before.Message, view.Status().Message)
		expect(t, "watches", 0, len(api.copyWatches()))
		time.Sleep(time.Minute)
		expect(t, "the next attempt counts", events("Synced"), sub.take())
	})
}

func TestRevokeBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]
		s.RevokeInformers(all, errTaken)
		expect(t, "state", Forbidden, view.State())
		defer begin(t, s)()
		expect(t, "told", events("StateChanged Forbidden", "Synced"), sub.take())
	})
}

func TestRevokeResetsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		var asked []int
		s := testSet(map[string]*server{"ns": api}, Options{Retry: func(failures int) time.Duration {
			asked = append(asked, failures)
			return time.Second
		}})
		stop := begin(t, s)
		s.Require(&recorder{}, []Interest{needOf("ns")})
		for range 3 {
			time.Sleep(time.Minute)
			s.RevokeInformers(all, errTaken)
		}
		synctest.Wait()
		stop()
		expect(t, "failures in a row", []int{1, 1, 1}, asked)
	})
}
