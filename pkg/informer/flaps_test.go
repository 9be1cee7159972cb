package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

// TestFlaps: whatever happens to an informer, in whatever order, once the API server
// accepts it again and somebody says so, it is Live with what is there, and no
// deletion was told that did not happen.
func TestFlaps(t *testing.T) {
	for range 50 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { flapsStory(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func flapsStory(t *testing.T, r *rand.Rand) {
	api := newServer()
	api.put(thing("a", "1"))
	hour := fixed(time.Hour) // a refusal does not mend by itself
	s := testSet(map[string]*server{"ns": api}, Options{Retry: hour, Lookup: hour, Reconnect: fixed(time.Second)})
	stop := begin(t, s)
	sub, need := &recorder{}, needOf("ns")
	steps := []func(){
		func() { s.RevokeInformers(all, errTaken) },
		func() { s.Retry(need.Key) },
		func() { api.fails(statusError(403, "Forbidden")) },
		func() { api.fails(statusError(404, "NotFound")) },
		func() { api.fails(refused()) },
		func() { api.fails(nil) },
		func() { api.end(nil) },
		func() { s.Reauthorize(true) },
		func() { s.Reauthorize(false) },
		func() { api.put(thing("a", r.Int64())) },
		func() { s.Require(sub, nil); s.Require(sub, []Interest{need}) },
		synctest.Wait,
		func() { time.Sleep(time.Duration(r.Int64N(int64(5 * time.Second)))) },
	}
	s.Require(sub, []Interest{need})
	for range 200 {
		steps[r.IntN(len(steps))]()
	}
	api.fails(nil)
	s.Reauthorize(true)
	time.Sleep(10 * time.Second)
	s.Retry(need.Key)
	view := s.Require(sub, []Interest{need})[0]
	time.Sleep(2 * time.Second)
	synctest.Wait() // a watch may be opened again just now
	expect(t, "state", Live, view.State())
	expect(t, "objects", 1, len(view.List()))
	expect(t, "watches", 1, len(api.copyWatches()))
	expect(t, "as it is", api.objects[objectstore.NameOf(thing("a", ""))].GetResourceVersion(), view.Get("ns", "a").GetResourceVersion())
	for _, event := range sub.take() {
		if event == "Deleted a" {
			t.Error("a deletion was made up")
		}
	}
	stop()
	expect(t, "plans left", 0, s.env.requests.PlannedEnds())
	expect(t, "watches left", 0, len(api.copyWatches()))
}
