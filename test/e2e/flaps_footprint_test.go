package e2e

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// footprint is what the process has.
type footprint struct {
	goroutines int
	streams    int    // that are Live, by Ambit's own account
	heap       uint64 // bytes
}

func (f footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d streams in namespaces, %d KiB of live heap", f.goroutines, f.streams, f.heap/1024)
}

func (f *flaps) measure() footprint {
	f.w.t.Helper()
	// A number of goroutines that is only right now and then is no baseline.
	now := footprint{goroutines: runtime.NumGoroutine(), heap: flapHeap()}
	for range 10 {
		if err := flapWait(f.w.t.Context(), 300*time.Millisecond); err != nil {
			f.w.t.Fatal(err)
		}
		now.goroutines, now.heap = min(now.goroutines, runtime.NumGoroutine()), min(now.heap, flapHeap())
	}
	for _, resource := range []string{"memcacheds.cache.example.com", "deployments.apps", "pods"} {
		now.streams += f.l.live(resource)
	}
	return now
}

// flapHeap is how many bytes the garbage collector finds alive: not what is
// allocated, which depends on when it ran last. It takes three collections,
// because a sync.Pool keeps what it has through one and what has a finalizer or a
// cleanup is freed by the one after. What a request that happens to be on its way
// holds is alive too, so callers take the least of several.
//
// The test keeps little itself: the log of Ambit is in a file, and the audit log,
// which is kept once it is read, is not read before the last measurement.
func flapHeap() uint64 {
	for range 3 {
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// backAt waits until the process has what it had, up to the tolerance. Idle
// connections close by themselves, after a while.
func (f *flaps) backAt(before footprint) {
	f.w.t.Helper()
	var now footprint
	err := wait.PollUntilContextTimeout(f.w.t.Context(), time.Second, 2*patience, true, func(context.Context) (bool, error) {
		now = f.measure()
		return flapWithin(now.goroutines, before.goroutines) && now.streams == before.streams && float64(now.heap) <= float64(before.heap)*(1+flapTolerance), nil
	})
	f.w.t.Logf("after the flaps: %s", now)
	if err != nil {
		f.w.t.Errorf("that is not within %.0f%% of what it was before: %s", 100*flapTolerance, before)
		if !flapWithin(now.goroutines, before.goroutines) {
			stacks := make([]byte, 1<<20)
			f.w.t.Logf("all goroutines:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func flapWithin(now, before int) bool {
	difference := float64(now - before)
	return max(difference, -difference) <= float64(before)*flapTolerance
}
