package manager

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How often spare memory is looked for: every lookSoon while there is work or something to
// give back, and more and more rarely, to lookLate, while there is neither.
const (
	lookSoon = time.Second
	lookLate = 8 * time.Second
)

// Memory is given back when at least spareLeast and a spareShare-th of what is in use could
// be, and not again for returnPause, nor before as much as is in use has been allocated: then it
// adds no more collections than there are anyway. Without a burst it is not given back again for
// rareReturnPause: what lighter work leaves, up to GOGC percent of what is in use, lighter work takes again
// page by page, and a page that is touched anew is slow where the machine is a virtual one.
const (
	spareLeast      = 1 << 20
	spareShare      = 8
	returnPause     = 5 * time.Second
	rareReturnPause = 5 * time.Minute
)

// burstShare makes a burst of work: it allocates as many times what is in use, without a quiet look between.
const burstShare = 2

// It is quiet when no more than quietLeast and a quietShare-th of what could be given back was
// allocated since the look before: it is worth it if it is not taken again in a few seconds.
const (
	quietLeast = 1 << 20
	quietShare = 16
)

// memoryUse is how the process uses its memory, in bytes.
type memoryUse struct {
	// used is what the last collection has found in use.
	used uint64
	// spare is what a collection would free at most, and what is free and not given back.
	spare uint64
	// allocated is all that has been allocated so far.
	allocated uint64
}

// readMemoryUse reads it from the runtime, which costs some microseconds and stops nothing.
func readMemoryUse() memoryUse {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples)
	used, objects := samples[0].Value.Uint64(), samples[1].Value.Uint64()
	unused := objects - min(used, objects) // what was in use then may have been swept since
	return memoryUse{used: used, spare: unused + samples[2].Value.Uint64(), allocated: samples[3].Value.Uint64()}
}

// memoryReturner decides when memory is given back to the system. Lists and bursts of
// work leave garbage that is not collected while nothing is allocated, and pages that the runtime keeps for
// long. For one goroutine.
type memoryReturner struct {
	// allocated is memoryUse.allocated at the last look.
	allocated uint64
	// worked is what was allocated since the last quiet look. hadBurst: that was a burst, since memory was
	// given back.
	worked   uint64
	hadBurst bool
	// returned is when memory was given back last, and returnedAt what had been allocated then.
	returned   time.Time
	returnedAt uint64
	// pause is the time until the next look.
	pause time.Duration
}

// decideReturn decides whether memory is given back now, and sets the time until the next look. A
// steady load is no reason: it would take the memory again at once.
func (r *memoryReturner) decideReturn(now time.Time, use memoryUse) (giveBack bool) {
	quiet := r.countWork(use)
	much := use.spare >= max(spareLeast, use.used/spareShare) && use.allocated-r.returnedAt >= use.used
	after := rareReturnPause
	if r.hadBurst {
		after = returnPause
	}
	giveBack = quiet && much && now.Sub(r.returned) >= after
	r.pause = min(2*r.pause, lookLate)
	if !quiet || much && r.hadBurst || r.pause == 0 {
		r.pause = lookSoon
	}
	if giveBack {
		r.returned, r.returnedAt, r.hadBurst = now, use.allocated, false
	}
	return giveBack
}

// countWork counts what was allocated since the last look, and reports whether that is so little that it is
// quiet.
func (r *memoryReturner) countWork(use memoryUse) (quiet bool) {
	more := use.allocated - r.allocated
	r.allocated = use.allocated
	if more <= max(quietLeast, use.spare/quietShare) {
		r.worked = 0
		return true
	}
	r.worked += more
	r.hadBurst = r.hadBurst || r.worked >= burstShare*use.used
	return false
}

// returnMemory gives memory back, until ctx ends, whenever it has become quiet, if the options
// say so. A collection and pages that are touched anew are the price.
func (p *process) returnMemory(ctx context.Context) error {
	if p.options.ReturnMemory {
		returnWhenQuiet(ctx, readMemoryUse, debug.FreeOSMemory)
	}
	return nil
}

// returnWhenQuiet is returnMemory with what it reads and does.
func returnWhenQuiet(ctx context.Context, read func() memoryUse, giveBack func()) {
	returner := &memoryReturner{pause: lookSoon}
	timer := time.NewTimer(returner.pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-timer.C:
			if returner.decideReturn(now, read()) {
				giveBack()
			}
			timer.Reset(returner.pause)
		}
	}
}
