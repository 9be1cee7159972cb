package informer

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRealFreeThenNeed: an informer that is freed, needed again and revoked in any
// order is there in the end, once.
func TestRealFreeThenNeed(t *testing.T) {
	cases := map[string]struct {
		reason string
		revoke func(*env) (wait func())
	}{
		"Alone":         {"nothing else happens", func(*env) func() { return func() {} }},
		"Revoked":       {"the right is gone and back while nobody needs it", revokeAll},
		"RevokedAtOnce": {"the right is gone and back in the middle of it", revokeBeside},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newEnv(t, Options{Reauthorize: true, Retry: fixed(time.Hour)}, "")
			namespace := w.namespace()
			w.grant(namespace)
			w.put(namespace, "a", "1")
			sub, need := w.listener(), configMapsIn(namespace)
			for round := range 50 {
				w.streams.Require(sub, []Interest{need})
				wait := c.revoke(w)
				w.streams.Require(sub, nil)
				view := w.streams.Require(sub, []Interest{need})[0]
				wait()
				w.streams.Retry(need.Key) // as after any grant
				w.eventually(fmt.Sprintf("%s: live in round %d", c.reason, round), func() bool {
					return view.State() == Live && view.Get(namespace, "a") != nil
				})
				w.streams.Require(sub, nil)
			}
			w.streams.Require(sub, []Interest{need})
			w.eventually("one stream is open", func() bool { return w.open() == 1 })
			w.streams.Require(sub, nil)
			w.eventually("no stream is left", func() bool { return w.open() == 0 })
			for len(sub.events) > 0 {
				if e := <-sub.events; e.Type == Deleted {
					t.Errorf("told of a deletion: %+v", e)
				}
			}
		})
	}
}

func revokeAll(w *env) (wait func()) {
	w.streams.RevokeInformers(all, errors.New("gone"))
	return func() {}
}

func revokeBeside(w *env) (wait func()) {
	var running sync.WaitGroup
	running.Go(func() { w.streams.RevokeInformers(all, errors.New("gone")) })
	return running.Wait
}

// TestRealNothingRemains: 50 handlers come and go, and some lose their right.
func TestRealNothingRemains(t *testing.T) {
	w := newEnv(t, Options{Reauthorize: true}, "")
	namespace := w.namespace()
	w.grant(namespace)
	round := func(revoke bool) {
		subs := make([]*listener, 50)
		for i := range subs {
			subs[i] = w.listener()
			need := configMapsIn(namespace)
			need.Key.LabelSelector = fmt.Sprint("owner=", i)
			w.streams.Require(subs[i], []Interest{need})
		}
		for _, sub := range subs {
			sub.next(Synced, "")
		}
		if revoke {
			w.streams.RevokeInformers(func(k Key) bool { return strings.HasSuffix(k.LabelSelector, "7") }, errors.New("gone"))
		}
		for _, sub := range subs {
			w.streams.Require(sub, nil)
		}
		w.eventually("no stream is left", func() bool { return w.open() == 0 })
		expect(t, "streams", 0, len(w.streams.States()))
	}
	round(false) // makes the connection, which stays
	before := runtime.NumGoroutine()
	round(false)
	round(true)
	w.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	w.eventually("no plan is left", func() bool { return w.streams.env.requests.PlannedEnds() == 0 })
}
