package listwatch

import (
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// watchProxy is a watch whose errors and end are heard before the Reflector sees them;
// the Reflector does not tell of all of them. watch.Filter would do, but leaves
// its goroutine behind when the reader goes first.
type watchProxy struct {
	inner   atomic.Pointer[watch.Interface] // nil once forward has ended
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
	peeked  *watch.Event // the event that hasEnded took out
	ending  atomic.Bool  // we end the watch: client-go may say that this is an error
	// The watchLimit's mu guards what is below, once the watch is open.
	endsAt     time.Time   // when the end is planned, zero if it is not
	endTimer   clock.Timer // ends the watch at endsAt; nil if the API server does
	endsAnyway bool        // it ends at endsAt whether or not informers are reauthorized then
}

func newWatchProxy(inner watch.Interface) *watchProxy {
	t := &watchProxy{events: make(chan watch.Event), stopped: make(chan struct{})}
	t.inner.Store(&inner)
	return t
}

// ResultChan implements watch.Interface.
func (t *watchProxy) ResultChan() <-chan watch.Event { return t.events }

// Stop implements watch.Interface.
func (t *watchProxy) Stop() {
	t.once.Do(func() {
		close(t.stopped)
		t.endWatch()
	})
}

// endWatch ends the watch as its timeout would.
func (t *watchProxy) endWatch() {
	t.ending.Store(true)
	if inner := t.inner.Load(); inner != nil {
		(*inner).Stop()
	}
}

// release stops the watch and drops it: the Reflector holds on to the first watchProxy of an
// epoch for as long as that lasts, and what decoded the watch is large.
func (t *watchProxy) release(inner watch.Interface) {
	inner.Stop()
	t.inner.Store(nil)
	t.peeked = nil
}

// forward passes events on until the watch ends or is stopped. failed hears errors
// inside the watch, and reports whether the reader is to hear them too; if not, the
// watch just ends there. ended is called once, before the reader can notice the
// end.
func (t *watchProxy) forward(failed func(error) (pass bool), ended func()) {
	inner := *t.inner.Load()
	defer close(t.events)
	defer ended()
	defer t.release(inner)
	if t.peeked != nil && !t.forwardEvent(*t.peeked, failed) {
		return
	}
	for event := range inner.ResultChan() {
		if !t.forwardEvent(event, failed) {
			return
		}
	}
}

// forwardEvent passes one event on. It reports whether to go on.
func (t *watchProxy) forwardEvent(event watch.Event, failed func(error) bool) bool {
	if event.Type == watch.Error && (t.ending.Load() || !failed(apierrors.FromObject(event.Object))) {
		return false
	}
	select {
	case t.events <- event:
		return true
	case <-t.stopped:
		return false
	}
}

// hasEnded reports whether the watch has ended before it began, as client-go's do when
// the connection broke. It is called before forward.
func (t *watchProxy) hasEnded() (ended bool) {
	select {
	case event, ok := <-(*t.inner.Load()).ResultChan():
		if ok {
			t.peeked = &event
		}
		return !ok
	default:
		return false
	}
}
