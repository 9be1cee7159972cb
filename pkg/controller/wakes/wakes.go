// Package wakes has owners looked at again at the instants at which their plans change by themselves.
//
// There is one heap for all owners, with one wake for each: that of its last plan. One timer waits for the earliest.
// Nothing polls. An owner is woken at whole seconds at most, for those are the instants of plans.
//
// # Clocks that jump
//
// Wakes are times of the wall clock, and timers measure how much time has passed. So the timer waits for
// a minute at most while there is any wake, and then compares: if the clock was set forward, or the machine was
// asleep, what has become due is woken within a minute. That is the only work between wakes: one
// comparison a minute, however many owners there are. If the clock was set back, all owners that have a wake are
// woken, because what they were answered may not hold any more; those without one are left as they
// are. What was done is not done again if the plan says so by what it reads, such as a status that names the last run.
package wakes

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

const (
	// recheck is how long a timer waits at most before it is compared with the clock.
	recheck = time.Minute
	// setBack is how far the clock goes back at least before that counts as a jump: clocks are corrected
	// by less all the time, and nothing is asked about less.
	setBack = time.Second
)

// Queue has the wakes of all owners. Create it with New. Safe for concurrent use.
type Queue struct {
	clock clock.Clock
	wake  func(fairqueue.Key)
	news  chan struct{} // that there is another earliest wake; holds one

	mu    sync.Mutex // guards all below
	order wakeHeap
	byKey map[fairqueue.Key]*entry
	woken int64
	seen  time.Time // what the clock showed last; zero before
}

// New makes a queue without wakes. wake has an owner looked at; it must not block.
func New(of clock.Clock, wake func(fairqueue.Key)) *Queue {
	return &Queue{clock: of, wake: wake, news: make(chan struct{}, 1), byKey: map[fairqueue.Key]*entry{}}
}

// entry is one owner's wake.
type entry struct {
	key   fairqueue.Key
	at    time.Time
	index int // in the heap
}

// SetWake has an owner woken at a time, instead of what was set before.
func (q *Queue) SetWake(key fairqueue.Key, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.byKey[key]
	switch {
	case e == nil:
		e = &entry{key: key, at: at}
		q.byKey[key] = e
		heap.Push(&q.order, e)
	case e.at.Equal(at):
		return
	default:
		e.at = at
		heap.Fix(&q.order, e.index)
	}
	if e.index == 0 {
		wakeup.SendWake(q.news)
	}
}

// RemoveWake forgets an owner's wake, if there is one.
func (q *Queue) RemoveWake(key fairqueue.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.byKey[key]; e != nil {
		heap.Remove(&q.order, e.index)
		delete(q.byKey, key)
	}
}

// CountWakes returns how many owners have a wake, and how many were woken so far.
func (q *Queue) CountWakes() (waiting int, woken int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order), q.woken
}

// WakeOwners wakes owners until ctx ends. It may be called once.
func (q *Queue) WakeOwners(ctx context.Context) {
	for {
		due, wait := q.takeDue()
		for _, key := range due {
			q.wake(key)
		}
		if wakeup.WaitFor(ctx, q.clock, wait, q.news) == wakeup.Ended {
			return
		}
	}
}

// takeDue takes the owners out that are to be woken now, and says how long to wait then; negative: until there is a wake.
func (q *Queue) takeDue() (due []fairqueue.Key, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now().Round(0) // by the wall clock alone
	isSetBack := now.Before(q.seen.Add(-setBack))
	q.seen = now
	for len(q.order) > 0 && (isSetBack || !q.order[0].at.After(now)) {
		e := heap.Pop(&q.order).(*entry)
		delete(q.byKey, e.key)
		due = append(due, e.key)
	}
	q.woken += int64(len(due))
	if len(q.order) == 0 {
		return due, -1
	}
	return due, min(q.order[0].at.Sub(now), recheck)
}

// wakeHeap has the earliest entry first.
type wakeHeap []*entry

// Len implements heap.Interface.
func (h wakeHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h wakeHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

// Swap implements heap.Interface.
func (h wakeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *wakeHeap) Push(e any) {
	e.(*entry).index = len(*h)
	*h = append(*h, e.(*entry))
}

// Pop implements heap.Interface.
func (h *wakeHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
