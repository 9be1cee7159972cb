package informer

import (
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// tap is a watch whose errors and end are heard before the Reflector sees them;
// the Reflector does not tell of all of them. watch.Filter would do, but leaves
// its goroutine behind when the reader goes first.
type tap struct {
	inner   atomic.Pointer[watch.Interface] // nil once run has ended
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
	first   *watch.Event // what peek took out
	ending  atomic.Bool  // we end the watch: client-go may say that this is an error
	// The opener's mu guards what is below, once the tap is held.
	due   time.Time   // when the end is planned, zero if it is not
	timer clock.Timer // ends the watch at due; nil if the API server does
	exact bool        // it ends at due whether or not streams are verified then
}

func newTap(inner watch.Interface) *tap {
	t := &tap{events: make(chan watch.Event), stopped: make(chan struct{})}
	t.inner.Store(&inner)
	return t
}

// ResultChan implements watch.Interface.
func (t *tap) ResultChan() <-chan watch.Event { return t.events }

// Stop implements watch.Interface.
func (t *tap) Stop() {
	t.once.Do(func() {
		close(t.stopped)
		t.lapse()
	})
}

// lapse ends the watch as its timeout would.
func (t *tap) lapse() {
	t.ending.Store(true)
	if inner := t.inner.Load(); inner != nil {
		(*inner).Stop()
	}
}

// letGo stops the watch and drops it: the Reflector holds on to the first tap of an
// epoch for as long as that lasts, and what decoded the watch is large.
func (t *tap) letGo(inner watch.Interface) {
	inner.Stop()
	t.inner.Store(nil)
	t.first = nil
}

// run passes events on until the watch ends or is stopped. failed hears errors
// inside the watch, and says whether the reader is to hear them too; if not, the
// watch just ends there. ended is called once, before the reader can notice the
// end.
func (t *tap) run(failed func(error) (pass bool), ended func()) {
	inner := *t.inner.Load()
	defer close(t.events)
	defer ended()
	defer t.letGo(inner)
	if t.first != nil && !t.pass(*t.first, failed) {
		return
	}
	for event := range inner.ResultChan() {
		if !t.pass(event, failed) {
			return
		}
	}
}

// pass says whether to go on.
func (t *tap) pass(event watch.Event, failed func(error) bool) bool {
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

// peek looks whether the watch has ended before it began, as client-go's do when
// the connection broke. It is called before run.
func (t *tap) peek() (ended bool) {
	select {
	case event, ok := <-(*t.inner.Load()).ResultChan():
		if ok {
			t.first = &event
		}
		return !ok
	default:
		return false
	}
}
