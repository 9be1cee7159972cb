package eventqueue

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

// Type is what an Event is about.
type Type int

// The types of events.
const (
	Added Type = iota
	Updated
	Deleted
	Settled // everything that was there at first has been told
)

// Event is what a Listener tells its handler.
type Event struct {
	Type     Type
	Old, New any
	Initial  bool // it was there when the handler came, or is of a first list
}

// Listener calls one event handler, in a goroutine of its own. It is the registration of the handler.
type Listener struct {
	name    string
	handler toolscache.ResourceEventHandler
	resyncs []Resync
	stopped chan struct{}
	once    sync.Once
	synced  chan struct{}
	*Mailbox[Event]
}

var (
	_ toolscache.ResourceEventHandlerRegistration = &Listener{}
	_ toolscache.DoneChecker                      = &Listener{}
)

// Resync has a handler told of objects, again and again.
type Resync struct {
	Period  time.Duration // 0 is never
	Objects func() []any
}

// NewListener makes one of a kind, which is called name.
func NewListener(name string, handler toolscache.ResourceEventHandler, resyncs ...Resync) *Listener {
	return &Listener{
		name: name, handler: handler, resyncs: slices.DeleteFunc(resyncs, func(r Resync) bool { return r.Period <= 0 }),
		stopped: make(chan struct{}), synced: make(chan struct{}), Mailbox: NewMailbox[Event](),
	}
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration: all that was there when every stream was
// synced or refused has been told.
func (l *Listener) HasSynced() bool { return toolscache.IsDone(l) }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (l *Listener) HasSyncedChecker() toolscache.DoneChecker { return l }

// Name implements toolscache.DoneChecker.
func (l *Listener) Name() string { return "handler of " + l.name }

// Done implements toolscache.DoneChecker.
func (l *Listener) Done() <-chan struct{} { return l.synced }

// StopHandler has the handler told nothing more. It does not wait, and may be called more than once.
func (l *Listener) StopHandler() { l.once.Do(func() { close(l.stopped) }) }

// RunHandler calls the handler until the listener is stopped or done is closed. What is in the queue then is dropped.
func (l *Listener) RunHandler(done <-chan struct{}) {
	plan := newResyncPlan(l.resyncs)
	defer plan.stopTimer()
	for {
		select {
		case <-done:
			return
		case <-l.stopped:
			return
		case <-plan.dueChannel():
			for _, object := range plan.takeDue() {
				l.PushValue(Event{Type: Updated, Old: object, New: object})
			}
		case <-l.woken:
		}
		for _, e := range l.TakeAll() {
			if IsClosed(done) || IsClosed(l.stopped) {
				return
			}
			l.tellHandler(e)
		}
	}
}

func (l *Listener) tellHandler(e Event) {
	switch e.Type {
	case Added:
		l.handler.OnAdd(e.New, e.Initial)
	case Updated:
		l.handler.OnUpdate(e.Old, e.New)
	case Deleted:
		l.handler.OnDelete(e.Old)
	case Settled:
		close(l.synced)
	}
}

// resyncPlan says when resyncs are due. It is for one goroutine.
type resyncPlan struct {
	resyncs []Resync
	next    []time.Time
	timer   *time.Timer // nil if there are none
}

func newResyncPlan(resyncs []Resync) *resyncPlan {
	p := &resyncPlan{resyncs: resyncs}
	if len(resyncs) == 0 {
		return p
	}
	for _, r := range resyncs {
		p.next = append(p.next, time.Now().Add(jitteredPeriod(r.Period)))
	}
	p.timer = time.NewTimer(time.Until(slices.MinFunc(p.next, time.Time.Compare)))
	return p
}

func (p *resyncPlan) dueChannel() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C
}

func (p *resyncPlan) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// takeDue returns the objects of the resyncs that are due, and plans the next ones.
func (p *resyncPlan) takeDue() (list []any) {
	now := time.Now()
	for i, r := range p.resyncs {
		if !p.next[i].After(now) {
			list = append(list, r.Objects()...)
			p.next[i] = now.Add(jitteredPeriod(r.Period))
		}
	}
	p.timer.Reset(time.Until(slices.MinFunc(p.next, time.Time.Compare)))
	return list
}

// jitteredPeriod returns a tenth more or less, so that not all handlers are told at once.
func jitteredPeriod(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (0.9 + rand.Float64()/5))
}
