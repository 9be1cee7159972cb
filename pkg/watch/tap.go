package watch

import (
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// tap is a watch whose errors and end are heard before the Reflector sees them;
// the Reflector does not tell of all of them. watch.Filter would do, but leaves
// its goroutine behind when the reader goes first.
type tap struct {
	inner   watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func newTap(inner watch.Interface) *tap {
	return &tap{inner: inner, events: make(chan watch.Event), stopped: make(chan struct{})}
}

// ResultChan implements watch.Interface.
func (t *tap) ResultChan() <-chan watch.Event { return t.events }

// Stop implements watch.Interface.
func (t *tap) Stop() {
	t.once.Do(func() {
		close(t.stopped)
		t.inner.Stop()
	})
}

// run passes events on until the watch ends or is stopped. failed hears errors
// inside the watch, and says whether the reader is to hear them too; if not, the
// watch just ends there. ended is called once, before the reader can notice the
// end.
func (t *tap) run(first *watch.Event, failed func(error) (pass bool), ended func()) {
	defer close(t.events)
	defer ended()
	if first != nil && !t.pass(*first, failed) {
		return
	}
	for event := range t.inner.ResultChan() {
		if !t.pass(event, failed) {
			return
		}
	}
}

// pass says whether to go on.
func (t *tap) pass(event watch.Event, failed func(error) bool) bool {
	if event.Type == watch.Error && !failed(apierrors.FromObject(event.Object)) {
		t.inner.Stop()
		return false
	}
	select {
	case t.events <- event:
		return true
	case <-t.stopped:
		return false
	}
}

// peek looks whether a watch has ended before it began, as client-go's do when
// the connection broke. If it gave an event instead, that is returned.
func peek(w watch.Interface) (first *watch.Event, ended bool) {
	select {
	case event, ok := <-w.ResultChan():
		if !ok {
			return nil, true
		}
		return &event, false
	default:
		return nil, false
	}
}
