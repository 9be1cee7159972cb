package eventqueue

import (
	"math/rand/v2"
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
	resync  time.Duration // how often the handler is told of every object; 0 is never
	stopped chan struct{}
	once    sync.Once
	synced  chan struct{}
	// everything returns all objects, of which a resync tells.
	everything func() []any
	*Mailbox[Event]
}

var (
	_ toolscache.ResourceEventHandlerRegistration = &Listener{}
	_ toolscache.DoneChecker                      = &Listener{}
)

// NewListener makes one of a kind, which is called name. It is told of everything after each resync, unless that is 0.
func NewListener(name string, handler toolscache.ResourceEventHandler, resync time.Duration, everything func() []any) *Listener {
	return &Listener{
		name: name, handler: handler, resync: resync, everything: everything,
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

// Stop has the handler told nothing more. It does not wait, and may be called more than once.
func (l *Listener) Stop() { l.once.Do(func() { close(l.stopped) }) }

// Run calls the handler until the listener is stopped or done is closed. What is in the queue then is dropped.
func (l *Listener) Run(done <-chan struct{}) {
	var due <-chan time.Time
	if l.resync > 0 {
		ticker := time.NewTicker(jittered(l.resync))
		defer ticker.Stop()
		due = ticker.C
	}
	for {
		select {
		case <-done:
			return
		case <-l.stopped:
			return
		case <-due:
			for _, object := range l.everything() {
				l.Push(Event{Type: Updated, Old: object, New: object})
			}
		case <-l.woken:
		}
		for _, e := range l.TakeAll() {
			if IsClosed(done) || IsClosed(l.stopped) {
				return
			}
			l.tell(e)
		}
	}
}

func (l *Listener) tell(e Event) {
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

// jittered returns a tenth more or less, so that not all handlers are told at once.
func jittered(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (0.9 + rand.Float64()/5))
}
