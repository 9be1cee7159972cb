package e2e

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// heapSampler follows how many bytes the objects on the heap have, garbage too.
type heapSampler struct {
	before uint64
	stop   chan struct{}
	peak   chan uint64
}

func sampleHeap() *heapSampler {
	runtime.GC()
	s := &heapSampler{before: hostileHeap(), stop: make(chan struct{}), peak: make(chan uint64)}
	go s.follow()
	return s
}

func (s *heapSampler) follow() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for highest := s.before; ; {
		select {
		case <-tick.C:
			highest = max(highest, hostileHeap())
		case <-s.stop:
			s.peak <- highest
			return
		}
	}
}

// end returns by how many bytes the heap had grown at most, and by how many it still
// has when all garbage is gone.
func (s *heapSampler) end() (peak, kept int64) {
	close(s.stop)
	highest := <-s.peak
	return int64(highest) - int64(s.before), int64(flapHeap()) - int64(s.before)
}

func hostileHeap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
