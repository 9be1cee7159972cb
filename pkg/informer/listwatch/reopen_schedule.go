package listwatch

import (
	"sync"
	"time"
)

// reopenSchedule plans when open watches end, so that no second has more ends than the
// ceiling. It is safe for concurrent use.
type reopenSchedule struct {
	ceiling int                                    // positive; never changes
	jitter  func(most time.Duration) time.Duration // as Options.Jitter

	mu      sync.Mutex    // guards what is below
	planned map[int64]int // ends that have not come, by Unix second; never 0
}

// planEnd returns at or a second after it, at random, or, where neither has room, the
// first of the seconds after that. The caller calls forgetEnd with it at the end.
func (p *reopenSchedule) planEnd(at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if later := at.Add(time.Second); p.jitter(1) == 0 && p.roomLocked(later) { // one of two
		at = later
	}
	for !p.roomLocked(at) {
		at = at.Add(time.Second)
	}
	if p.planned == nil {
		p.planned = map[int64]int{}
	}
	p.planned[at.Unix()]++
	return at
}

func (p *reopenSchedule) roomLocked(at time.Time) bool { return p.planned[at.Unix()] < p.ceiling }

// forgetEnd gives a planned end back. The zero time is ignored.
func (p *reopenSchedule) forgetEnd(at time.Time) {
	if at.IsZero() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	second := at.Unix()
	p.planned[second]--
	if p.planned[second] == 0 {
		delete(p.planned, second)
	}
}

// plannedEnds returns how many ends have not come.
func (p *reopenSchedule) plannedEnds() (sum int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.planned {
		sum += n
	}
	return sum
}
