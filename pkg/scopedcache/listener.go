package scopedcache

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

type notificationKind int

const (
	added notificationKind = iota
	updated
	deleted
	settled // everything that was there at first has been told
)

// notification is what a listener tells its event handler.
type notification struct {
	kind     notificationKind
	old, new any
	initial  bool
}

// listener calls one event handler, in a goroutine of its own, for events of a kind: in order, and however
// long the handler takes. It is the registration of the handler.
type listener struct {
	kind    *kind
	handler toolscache.ResourceEventHandler
	resync  time.Duration // how often the handler is told of every object; 0 is never
	stopped chan struct{}
	once    sync.Once
	synced  chan struct{}
	*mailbox[notification]
}

var (
	_ toolscache.ResourceEventHandlerRegistration = &listener{}
	_ toolscache.DoneChecker                      = &listener{}
)

func newListener(k *kind, handler toolscache.ResourceEventHandler, resync time.Duration) *listener {
	return &listener{
		kind: k, handler: handler, resync: resync,
		stopped: make(chan struct{}), synced: make(chan struct{}), mailbox: newMailbox[notification](),
	}
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration: all that was there when every stream was
// synced or refused has been told.
func (l *listener) HasSynced() bool { return toolscache.IsDone(l) }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (l *listener) HasSyncedChecker() toolscache.DoneChecker { return l }

// Name implements toolscache.DoneChecker.
func (l *listener) Name() string { return "handler of " + l.kind.storageName() }

// Done implements toolscache.DoneChecker.
func (l *listener) Done() <-chan struct{} { return l.synced }

func (l *listener) stop() { l.once.Do(func() { close(l.stopped) }) }

// run calls the handler until the listener is stopped or done is closed. What is in the queue then is dropped.
func (l *listener) run(done <-chan struct{}) {
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
			l.pushEverything()
		case <-l.woken:
		}
		for _, n := range l.takeAll() {
			if isClosed(done) || isClosed(l.stopped) {
				return
			}
			l.tell(n)
		}
	}
}

func (l *listener) tell(n notification) {
	switch n.kind {
	case added:
		l.handler.OnAdd(n.new, n.initial)
	case updated:
		l.handler.OnUpdate(n.old, n.new)
	case deleted:
		l.handler.OnDelete(n.old)
	case settled:
		close(l.synced)
	}
}

// pushEverything has the handler told of an update of each object, as a resync does.
func (l *listener) pushEverything() {
	l.kind.mu.RLock()
	defer l.kind.mu.RUnlock()
	for _, s := range l.kind.streams {
		for _, object := range s.indexer.List() {
			l.push(notification{kind: updated, old: object, new: object})
		}
	}
}

// jittered returns a tenth more or less, so that not all handlers are told at once.
func jittered(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (0.9 + rand.Float64()/5))
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// waitClosed waits until a channel is closed, and reports whether it was so before ctx had ended.
func waitClosed(ctx context.Context, done <-chan struct{}) bool {
	if isClosed(done) {
		return true
	}
	if ctx.Err() != nil {
		return false // also if it is closed right now
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
