package informer

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// BenchmarkStream is what an open, empty informer costs: the memory and goroutines
// of this process, connections included, and the time until all of them are
// synced.
func BenchmarkStream(b *testing.B) {
	const streams = 500
	config := control.Cluster(b).Admin()
	s := NewSet(Options{Clients: shared(b, config)})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	needs := make([]Interest, streams)
	for i := range needs {
		needs[i] = configMapsIn("default")
		needs[i].Key.LabelSelector = fmt.Sprint("owner=", i)
	}
	for b.Loop() {
		before, goroutines, start := memory(), runtime.NumGoroutine(), time.Now()
		synced := make(chan Event, 10*streams)
		sub := &forwarder{synced}
		s.Require(sub, needs)
		for range needs {
			<-synced
		}
		took := time.Since(start)
		b.ReportMetric(took.Seconds()*1000, "ms-to-synced")
		b.ReportMetric(float64(memory()-before)/streams/1024, "KiB/stream")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/streams, "goroutines/stream")
		s.Require(sub, nil)
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// forwarder is an EventHandler that sends what it is told.
type forwarder struct{ events chan Event }

func (f *forwarder) Changed(e Event) { f.events <- e }

// memory is what is in use after a collection, stacks included.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}
