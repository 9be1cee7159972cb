package controller

import (
	"context"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// arrivals look out for kinds that the API server does not serve. While some are
// missing, and where that is permitted, CustomResourceDefinitions are watched (by
// metadata, as Ambit itself): each change of one leads to another look at what is
// missing. Without that it is looked at every few seconds anyway. Safe for
// concurrent use.
type arrivals struct {
	engine *Controller
	wake   chan struct{} // holds at most one
	came   atomic.Bool   // a definition has changed, or may have
	any    atomic.Bool   // something is known to be missing
}

func newArrivals(e *Controller) *arrivals {
	return &arrivals{engine: e, wake: make(chan struct{}, 1)}
}

// arrivalRights are arrivals as a subscriber of the rights that they need.
type arrivalRights struct{ *arrivals }

var (
	_ informer.EventHandler = (*arrivals)(nil)
	_ access.ChangeHandler  = arrivalRights{}
)

// Changed implements access.ChangeHandler.
func (a arrivalRights) Changed(access.Key) { a.look(false) }

// Changed implements informer.EventHandler.
func (a *arrivals) Changed(event informer.Event) {
	if event.Object != nil || event.Type == informer.Synced {
		a.came.Store(true)
	}
	a.look(false)
}

// look says that something has gone missing, or may have come back, which is of
// interest only while something is missing. It never blocks.
func (a *arrivals) look(missing bool) {
	if missing {
		a.any.Store(true)
	}
	if !a.any.Load() {
		return
	}
	poke(a.wake)
}

// served are the times after a change at which to look at what is missing: the
// API server begins to serve a kind some time after it said that it does.
func served() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
}

// run looks out until ctx ends.
func (a *arrivals) run(ctx context.Context) {
	defer a.release()
	var looks []time.Duration // still to come
	refused := false          // while the same things are missing, it is not asked for again
	for {
		due, ok := a.sleep(ctx, looks)
		if !ok {
			return
		}
		a.any.Store(false)
		missing := a.missing()
		if len(missing) == 0 && !a.engine.discovery.AnyUnserved() {
			refused, looks = false, nil
			a.release()
			continue
		}
		a.any.Store(true)
		if a.came.Swap(false) {
			looks, due = served(), true
		}
		if due {
			looks = looks[1:]
			a.retry(missing)
		}
		if !refused {
			refused = a.watch()
		}
	}
}

// sleep returns when there is something to look at, and whether that is the next of
// the looks; not ok: ctx has ended.
func (a *arrivals) sleep(ctx context.Context, looks []time.Duration) (due, ok bool) {
	var timeout <-chan time.Time
	if len(looks) > 0 {
		timer := a.engine.options.Clock.NewTimer(looks[0])
		defer timer.Stop()
		timeout = timer.C()
	}
	select {
	case <-ctx.Done():
		return false, false
	case <-a.wake:
		return false, true
	case <-timeout:
		return true, true
	}
}

// missing are the streams whose resource is not served.
func (a *arrivals) missing() []informer.Key {
	var keys []informer.Key
	for _, s := range a.engine.options.Informers.States() {
		if s.State == informer.Missing {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// missingResources are their resources, some more than once.
func (a *arrivals) missingResources() (list []schema.GroupVersionResource) {
	for _, key := range a.missing() {
		list = append(list, key.GVR)
	}
	return list
}

func (a *arrivals) retry(missing []informer.Key) {
	a.engine.discovery.Refresh()
	for _, key := range missing {
		a.engine.options.Informers.Retry(key)
	}
}

// watch watches definitions if that is permitted, and says whether it is not.
func (a *arrivals) watch() (refused bool) {
	definitions := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	wanted := reading(definitions.GroupResource())
	a.engine.options.Access.Require(arrivalRights{a}, access.Key{}, wanted, access.Payer{})
	switch all, _ := decide(a.engine.options.Access, access.Key{}, wanted); all {
	case access.Denied:
		a.release()
		return true
	case access.Allowed:
		a.engine.options.Informers.Require(a, []informer.Interest{{Key: informer.Key{GVR: definitions, Form: informer.Form{Metadata: true, Versions: true}}}})
	}
	return false
}

func (a *arrivals) release() {
	a.engine.options.Access.Require(arrivalRights{a}, access.Key{}, nil, access.Payer{})
	a.engine.options.Informers.Require(a, nil)
}
