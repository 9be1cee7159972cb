package stories

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestNothingIsLeft: when the last owner is gone, so are the streams for its
// children and what it watched, and the goroutines behind them; when Ambit
// stops, nothing of it is left in the process.
func TestNothingIsLeft(t *testing.T) {
	const owners = 20
	w := newWorld(t, "freed")
	namespace := w.namespace(memcachedRights()...)
	before := goleak.IgnoreCurrent()
	stop := w.run([]string{namespace}, memcached(t))
	w.openStreams(map[string]int{"memcacheds": 1})
	w.settled() // so that all has begun that stays
	baseline := w.goroutines("before there is an owner", 0)

	for i := range owners {
		w.createOwner(namespace, fmt.Sprintf("cache-%d", i), 1)
	}
	w.allReady([]string{namespace}, owners)
	w.openStreams(map[string]int{"memcacheds": 1, "deployments": 1, "pods": 1})
	for i := range owners {
		w.deleteOwner(namespace, fmt.Sprintf("cache-%d", i))
	}
	w.openStreams(map[string]int{"memcacheds": 1})
	w.goroutines("after the owners are gone", baseline)

	stop()
	w.openStreams(map[string]int{})
	goleak.VerifyNone(t, before)
}

// TestSharedStreams: a few owners in a namespace watch just their own Pods; one
// more, and all share one stream, and each still sees its own.
func TestSharedStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "shared")
	namespace := w.namespace(memcachedRights()...)
	w.run([]string{namespace}, memcached(t))
	for i := range 4 {
		w.createOwner(namespace, fmt.Sprintf("cache-%d", i), 1)
	}
	w.allReady([]string{namespace}, 4)
	w.openStreams(map[string]int{"memcacheds": 1, "deployments": 1, "pods": 4})
	w.createOwner(namespace, "cache-4", 1)
	w.allReady([]string{namespace}, 5)
	w.openStreams(map[string]int{"memcacheds": 1, "deployments": 1, "pods": 1})
	for i := range 5 {
		w.checkStatus(t, namespace, fmt.Sprintf("cache-%d", i), 1)
	}
	w.resize(namespace, "cache-0", 2)
	w.deploymentHas(namespace, "cache-0", 2)
	w.checkStatus(t, namespace, "cache-0", 2)
	for i := range 3 {
		w.deleteOwner(namespace, fmt.Sprintf("cache-%d", i))
	}
	w.openStreams(map[string]int{"memcacheds": 1, "deployments": 1, "pods": 2})
	w.resize(namespace, "cache-4", 3)
	w.deploymentHas(namespace, "cache-4", 3)
	w.checkStatus(t, namespace, "cache-4", 3)
	w.condition(namespace, "cache-3", v1alpha1.ConditionReady, "True", "")
}

// openStreams waits until the story's user has so many watches open at the API
// server, by resource, and no others.
func (w *world) openStreams(want map[string]int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the open streams are %v", want), func(context.Context) error {
		open, err := w.control.Audit().OpenWatches(w.user)
		if err != nil {
			return err
		}
		got := map[string]int{}
		for _, r := range open {
			got[r.Resource]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
}

// goroutines waits until there are at most so many, and returns the number; a
// limit of 0 only counts.
func (w *world) goroutines(when string, limit int) int {
	w.t.Helper()
	if limit > 0 {
		w.eventually(fmt.Sprintf("there are at most %d goroutines %s", limit, when), func(context.Context) error {
			if n := runtime.NumGoroutine(); n > limit {
				return fmt.Errorf("there are %d", n)
			}
			return nil
		})
	}
	n := runtime.NumGoroutine()
	w.t.Logf("%d goroutines %s", n, when)
	return n
}
