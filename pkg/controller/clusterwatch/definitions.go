package clusterwatch

import (
	"context"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// DefinitionWatcher looks out for kinds that the API server does not serve. While some are
// missing, and where that is permitted, CustomResourceDefinitions are watched (by
// metadata): each change of one leads to another look at what is
// missing. Without that it is looked at every few seconds anyway. Create it with NewDefinitionWatcher.
// Safe for concurrent use.
type DefinitionWatcher struct {
	Options
	definitions            *permitted.Watch // belongs to the goroutine of Run
	wake                   chan struct{}    // holds at most one
	haveDefinitionsChanged atomic.Bool      // a definition has changed, or may have
	isAnyMissing           atomic.Bool      // something is known to be missing
}

// NewDefinitionWatcher returns a watcher, which does nothing before Run.
func NewDefinitionWatcher(o Options) *DefinitionWatcher {
	a := &DefinitionWatcher{Options: o, wake: make(chan struct{}, 1)}
	a.definitions = o.Permitted.NewWatch(permitted.Query{
		Resources: []schema.GroupVersionResource{apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")}, Versions: true,
	}, a.definitionsChanged)
	return a
}

// definitionsChanged is told of definitions, and of the permission to watch them.
func (a *DefinitionWatcher) definitionsChanged(event permitted.Event) {
	if event.Object != nil || event.Type == permitted.Synced {
		a.haveDefinitionsChanged.Store(true)
	}
	a.CheckSoon(false)
}

// CheckSoon says that something has gone missing, or may have come back, which is of
// interest only while something is missing. It never blocks.
func (a *DefinitionWatcher) CheckSoon(missing bool) {
	if missing {
		a.isAnyMissing.Store(true)
	}
	if !a.isAnyMissing.Load() {
		return
	}
	wakeup.SendWake(a.wake)
}

// retryDelays are the times after a change at which to look at what is missing: the
// API server begins to serve a kind some time after it said that it does.
func retryDelays() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
}

// Run looks out until ctx ends.
func (a *DefinitionWatcher) Run(ctx context.Context) {
	defer a.definitions.Release()
	var looks []time.Duration // still to come
	refused := false          // while the same things are missing, it is not asked for again
	for {
		wait := wakeup.NoEnd
		if len(looks) > 0 {
			wait = looks[0]
		}
		cause := wakeup.WaitFor(ctx, a.Clock, wait, a.wake)
		if cause == wakeup.Ended {
			return
		}
		due := cause == wakeup.TimePassed
		a.isAnyMissing.Store(false)
		missing := missingStreams(a.Informers)
		if len(missing) == 0 && !a.Kinds.AnyUnserved() {
			refused, looks = false, nil
			a.definitions.Release()
			continue
		}
		a.isAnyMissing.Store(true)
		if a.haveDefinitionsChanged.Swap(false) {
			looks, due = retryDelays(), true
		}
		if due {
			looks = looks[1:]
			a.retryMissing(missing)
		}
		if !refused {
			refused = a.watchDefinitions()
		}
	}
}

// missingStreams are the streams whose resource is not served.
func missingStreams(informers Informers) []informer.Key {
	var keys []informer.Key
	for _, s := range informers.States() {
		if s.State == informer.Missing {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// MissingResources returns the resources of informers that are not served, some more than once.
func MissingResources(informers Informers) (list []schema.GroupVersionResource) {
	for _, key := range missingStreams(informers) {
		list = append(list, key.GVR)
	}
	return list
}

func (a *DefinitionWatcher) retryMissing(missing []informer.Key) {
	a.Kinds.RefreshAll()
	for _, key := range missing {
		a.Informers.Retry(key)
	}
}

// watchDefinitions watches definitions if that is permitted, and says whether it is not.
func (a *DefinitionWatcher) watchDefinitions() (refused bool) {
	if a.definitions.Require().Decision != permitted.Denied {
		return false
	}
	a.definitions.Release()
	return true
}
