package informer

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// reports are what a hook was told.
type reports struct {
	mu   sync.Mutex
	all  []WatchError
	when []time.Time
}

func (r *reports) add(e WatchError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
	r.when = append(r.when, time.Now())
}

// take returns what was told since the last call, and when.
func (r *reports) take() ([]WatchError, []time.Time) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	all, when := r.all, r.when
	r.all, r.when = nil, nil
	return all, when
}

// TestWatchError: each failure of an informer that was Live is reported once, with its
// class, and the next request comes when that was announced.
func TestWatchError(t *testing.T) {
	const retry, lookup, reconnect = 7 * time.Second, 5 * time.Second, 3 * time.Second
	open := func(api *server, err *apierrors.StatusError) { api.failsOnce(err); api.end(nil) }
	inside := func(api *server, err *apierrors.StatusError) { api.end(err) }
	cases := map[string]struct {
		reason string
		err    *apierrors.StatusError
		fail   func(*server, *apierrors.StatusError)
		want   WatchError
	}{
		"Forbidden":       {"a right is gone", statusError(403, "Forbidden"), open, WatchError{Class: Forbidden, Reason: "Forbidden", Action: ActionClose, Wait: retry}},
		"Unauthenticated": {"a token is not accepted", statusError(401, "Unauthorized"), open, WatchError{Class: Unauthenticated, Reason: "Unauthorized", Action: ActionClose, Wait: retry}},
		"Missing":         {"the kind is gone", statusError(404, "NotFound"), open, WatchError{Class: Missing, Reason: "NotFound", Action: ActionClose, Wait: lookup}},
		"Invalid":         {"such a request is refused", statusError(405, "MethodNotAllowed"), open, WatchError{Class: Invalid, Reason: "MethodNotAllowed", Action: ActionClose, Wait: retry}},
		"Busy":            {"client-go's handler is silent at 429", statusError(429, "TooManyRequests"), open, WatchError{Class: Degraded, Reason: "TooManyRequests", Action: ActionRetry, Wait: reconnect}},
		"Internal":        {"what passes is tried again in place", statusError(500, "InternalError"), open, WatchError{Class: Degraded, Reason: "InternalError", Action: ActionRetry, Wait: reconnect}},
		"Expired":         {"client-go's handler is silent at 410", statusError(410, "Expired"), open, WatchError{Reason: "Expired", Action: ActionRelist}},
		"InsideExpired":   {"the same as an event of the watch", statusError(410, "Expired"), inside, WatchError{Reason: "Expired", Action: ActionRelist}},
		"InsideInternal":  {"the watch goes on where it was", statusError(500, "InternalError"), inside, WatchError{Class: Degraded, Reason: "InternalError", Action: ActionRetry, Wait: reconnect}},
		"InsideForbidden": {"an API server may end a watch so", statusError(403, "Forbidden"), inside, WatchError{Class: Forbidden, Reason: "Forbidden", Action: ActionClose, Wait: retry}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, told := newServer(), &reports{}
				s := testSet(map[string]*server{"ns": api}, Options{
					Retry: fixed(retry), Lookup: fixed(lookup), Reconnect: fixed(reconnect), OnWatchError: told.add,
				})
				defer begin(t, s)()
				view := s.Require(&recorder{}, []Interest{needOf("ns")})[0]
				time.Sleep(time.Minute)
				api.take()
				c.fail(api, c.err)
				got, when := told.take()
				if len(got) != 1 || got[0].Err.Error() != c.err.Error() {
					t.Fatalf("%s: told %+v", c.reason, got)
				}
				got[0].Err = nil
				c.want.Key = needOf("ns").Key
				expect(t, c.reason, c.want, got[0])
				api.take()
				if c.want.Wait > 0 {
					time.Sleep(time.Until(when[0].Add(c.want.Wait - time.Millisecond)))
					expect(t, "requests before that", 0, len(api.take()))
					time.Sleep(2 * time.Millisecond)
					synctest.Wait()
					expect(t, "requests then", 1, len(api.take()))
				}
				expect(t, "state", Live, view.State())
				again, _ := told.take()
				expect(t, "told again", 0, len(again))
			})
		})
	}
}

// TestWatchErrorUnreachable: a refused connection, at which client-go's handler is silent,
// is reported at each attempt, with the wait that follows it.
func TestWatchErrorUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, told := newServer(), &reports{}
		api.fails(refused())
		s := testSet(map[string]*server{"ns": api}, Options{OnWatchError: told.add})
		defer begin(t, s)()
		s.Require(&recorder{}, []Interest{needOf("ns")})
		time.Sleep(30 * time.Second)
		got, when := told.take()
		expect(t, "one report a request", len(api.take()), len(got))
		if len(got) < 5 {
			t.Fatalf("told %d times in 30 s", len(got))
		}
		for i, e := range got {
			expect(t, "class", Degraded, e.Class)
			expect(t, "reason", "ConnectionRefused", e.Reason)
			expect(t, "action", ActionRetry, e.Action)
			if i+1 < len(got) {
				expect(t, "the next attempt", e.Wait, when[i+1].Sub(when[i]))
			}
		}
	})
}

// TestWatchErrorOldServer: an API server that cannot send a list inside a watch leaves
// the state alone.
func TestWatchErrorOldServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, told := newServer(), &reports{}
		api.old = true
		s := testSet(map[string]*server{"ns": api}, Options{OnWatchError: told.add})
		defer begin(t, s)()
		s.Require(&recorder{}, []Interest{needOf("ns")})
		got, _ := told.take()
		expect(t, "told", 1, len(got))
		expect(t, "class", State(""), got[0].Class)
		expect(t, "action", ActionRelist, got[0].Action)
		expect(t, "wait", time.Duration(0), got[0].Wait)
	})
}

// TestWatchErrorWithoutClient: clients that cannot be made are an error like others.
func TestWatchErrorWithoutClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &reports{}
		s := NewSet(Options{Clients: clientsOfNobody, Reconnect: fixed(time.Second), OnWatchError: told.add})
		defer begin(t, s)()
		s.Require(&recorder{}, []Interest{needOf("ns")})
		got, _ := told.take()
		expect(t, "told", 1, len(got))
		expect(t, "class", Degraded, got[0].Class)
		expect(t, "reason", "NoClient", got[0].Reason)
		expect(t, "action", ActionClose, got[0].Action)
		expect(t, "wait", time.Second, got[0].Wait)
	})
}

// TestWatchErrorIsNoRevoke: a revocation, the end of a watch, and the release of a key are
// no errors.
func TestWatchErrorIsNoRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, told := newServer(), &reports{}
		s := testSet(map[string]*server{"ns": api}, Options{OnWatchError: told.add, Reauthorize: true})
		defer begin(t, s)()
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns")})
		time.Sleep(time.Minute)
		s.RevokeInformers(func(Key) bool { return true }, errors.New("gone"))
		time.Sleep(time.Minute)
		s.Require(sub, nil)
		time.Sleep(time.Minute)
		got, _ := told.take()
		expect(t, "told", 0, len(got))
	})
}

// TestWatchErrorCallsSet: the hook may call the Set, also about the key that it was
// told of.
func TestWatchErrorCallsSet(t *testing.T) {
	everything := func(Key) bool { return true }
	cases := map[string]struct {
		reason string
		err    error
		call   func(*Set, EventHandler, WatchError)
		want   int // informers that are left
	}{
		"ReleaseDegraded": {"nobody needs it any more", statusError(500, "InternalError"), func(s *Set, sub EventHandler, _ WatchError) { s.Require(sub, nil) }, 0},
		"ReleaseRefused":  {"nobody needs it any more", statusError(403, "Forbidden"), func(s *Set, sub EventHandler, _ WatchError) { s.Require(sub, nil) }, 0},
		"Revoke":          {"the hook has the proof", statusError(500, "InternalError"), func(s *Set, _ EventHandler, e WatchError) { s.RevokeInformers(everything, e.Err) }, 1},
		"Others": {"what looks on or wakes", statusError(404, "NotFound"), func(s *Set, _ EventHandler, e WatchError) {
			s.States()
			s.Reauthorize(true)
			s.ExpireWatches(everything)
			s.Observe(e.Key, thing("a", "1"))
		}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, sub := newServer(), &recorder{}
				var s *Set
				s = testSet(map[string]*server{"ns": api}, Options{
					OnWatchError: func(e WatchError) { c.call(s, sub, e) },
				})
				defer begin(t, s)()
				s.Require(sub, []Interest{needOf("ns")})
				time.Sleep(time.Minute)
				api.failsOnce(c.err)
				api.end(nil)
				time.Sleep(time.Minute)
				states := s.States()
				expect(t, c.reason, c.want, len(states))
				for _, found := range states {
					expect(t, "state", Live, found.State)
				}
			})
		})
	}
}
