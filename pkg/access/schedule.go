package access

import (
	"container/heap"
	"time"
)

// class is how urgent a request is; a lower one goes first.
type class int

// The classes. urgent: first reviews, refusals, hints at one namespace. sweep: hints
// at all namespaces. routine: probes while denied.
const (
	urgent class = iota
	sweep
	routine
	classes
)

// patience is how many requests of more urgent classes may overtake a class that
// waits, before it gets a turn.
const patience = 7

// schedule is the places whose next request waits, by class and time. The zero value
// is empty. Not safe for concurrent use.
type schedule struct {
	queues    [classes]queue
	overtaken [classes]int
}

// put enters a place that is not in the schedule.
func (s *schedule) put(p *place, c class, due time.Time) {
	p.class, p.due = c, due
	heap.Push(&s.queues[c], p)
}

// remove takes a place out; one that is not in stays out.
func (s *schedule) remove(p *place) {
	if p.slot >= 0 {
		heap.Remove(&s.queues[p.class], p.slot)
	}
}

// take removes and returns the place whose turn it is, nil if none is due. smooth is
// when a routine probe may be sent at the earliest. Within a class the one that
// waits longest is first.
func (s *schedule) take(now, smooth time.Time) *place {
	var due [classes]bool
	turn := classes
	for c := routine; c >= urgent; c-- {
		if due[c] = s.due(c, now, smooth); due[c] && (turn == classes || s.overtaken[turn] < patience) {
			turn = c
		}
	}
	if turn == classes {
		return nil
	}
	for c := turn + 1; c < classes; c++ {
		if due[c] {
			s.overtaken[c]++
		}
	}
	s.overtaken[turn] = 0
	return heap.Pop(&s.queues[turn]).(*place)
}

// due says whether a class has something to send.
func (s *schedule) due(c class, now, smooth time.Time) bool {
	if c == routine && now.Before(smooth) {
		return false
	}
	return len(s.queues[c]) > 0 && !now.Before(s.queues[c][0].due)
}

// next returns when something is due; false: nothing waits.
func (s *schedule) next(smooth time.Time) (at time.Time, any bool) {
	for c := range s.queues {
		if len(s.queues[c]) == 0 {
			continue
		}
		due := s.queues[c][0].due
		if class(c) == routine {
			due = later(due, smooth)
		}
		if !any || due.Before(at) {
			at, any = due, true
		}
	}
	return at, any
}

// queue is a heap of places by the time they are due.
type queue []*place

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i, j
}

func (q *queue) Push(x any) {
	p := x.(*place)
	p.slot = len(*q)
	*q = append(*q, p)
}

func (q *queue) Pop() any {
	old := *q
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	p.slot = -1
	return p
}
