package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/watch"
)

// kind is what the API server says of a kind.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// Backoff between two lookups of kinds that the API server did not know.
const (
	lookupBackoffMin = time.Second
	lookupBackoffMax = 4 * time.Second
)

// kinds finds the resources behind kinds by discovery, in a goroutine of its
// own, so that no worker waits for it. Safe for concurrent use.
type kinds struct {
	mapper meta.RESTMapper
	served func(context.Context, schema.GroupKind) ([]*meta.RESTMapping, error) // as Options.Served
	clock  clock.Clock
	// changed is called without a lock after lookups gave something new, with the kinds.
	changed func(map[schema.GroupKind]bool)
	wake    chan struct{}

	mu     sync.Mutex // guards what is below
	known  map[schema.GroupVersionKind]kind
	wanted map[schema.GroupVersionKind]error // nil: not looked up yet; else why it is not known
	// stale are kinds of which the mapper knows what is no longer so.
	stale map[schema.GroupVersionKind]bool
	named map[schema.GroupVersionResource]schema.GroupVersionKind // the kinds of known, by resource
	// doubts are the resources whose streams were answered that they are not there.
	doubts map[schema.GroupVersionResource]*doubt
}

func newKinds(o Options, changed func(map[schema.GroupKind]bool)) *kinds {
	k := &kinds{
		mapper: o.Mapper, served: o.Served, clock: o.Clock, changed: changed,
		wake:   make(chan struct{}, 1),
		known:  map[schema.GroupVersionKind]kind{},
		wanted: map[schema.GroupVersionKind]error{},
		stale:  map[schema.GroupVersionKind]bool{},
		named:  map[schema.GroupVersionResource]schema.GroupVersionKind{},
		doubts: map[schema.GroupVersionResource]*doubt{},
	}
	if k.served == nil {
		k.served = func(_ context.Context, gk schema.GroupKind) ([]*meta.RESTMapping, error) {
			return k.mapper.RESTMappings(gk)
		}
	}
	return k
}

// lookup says what is known of a kind, without a request: the kind; or an error
// when the last lookup failed; or neither (ok false, err nil) when the first
// lookup is still to come. A kind that is not known is looked up from then on
// until it is.
func (k *kinds) lookup(gvk schema.GroupVersionKind) (found kind, ok bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, ok = k.known[gvk]; ok {
		return found, true, nil
	}
	err, asked := k.wanted[gvk]
	if !asked {
		k.wanted[gvk] = nil
		k.again()
	}
	return kind{}, false, err
}

// anyWanted says whether there are kinds that are looked up until they are known.
func (k *kinds) anyWanted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.wanted) > 0
}

// unwant no longer looks up kinds that somebody wanted, but for those that others want.
// wanted is called with mu held: who comes to want a kind looks it up after it is among the
// others, and so either is one of them or asks again after this.
func (k *kinds) unwant(gone []schema.GroupVersionKind, wanted func() []schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	others := wanted()
	for _, gvk := range gone {
		if !slices.Contains(others, gvk) {
			delete(k.wanted, gvk)
		}
	}
}

// again looks what is not known up soon.
func (k *kinds) again() { poke(k.wake) }

// poke wakes who waits for a channel that holds one, or will do so: one is enough.
// It never blocks.
func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// anyMissing says whether a kind is known not to be served in the version that is
// looked for.
func (k *kinds) anyMissing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, err := range k.wanted {
		if isUnserved(err) {
			return true
		}
	}
	return false
}

// run looks kinds up until ctx ends. missing are the streams whose resource is not there.
func (k *kinds) run(ctx context.Context, missing func() []watch.Key) {
	wait := lookupBackoffMin
	for {
		timer := k.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-k.wake:
			wait = lookupBackoffMin
		case <-timer.C():
			wait = min(2*wait, lookupBackoffMax)
		}
		timer.Stop()
		k.forget(missing)
		if news := k.lookupAll(ctx); len(news) > 0 {
			k.changed(news)
		}
	}
}

// lookupAll looks up all kinds that are wanted or doubted, and returns those of which there
// is news.
func (k *kinds) lookupAll(ctx context.Context) map[schema.GroupKind]bool {
	k.mu.Lock()
	wanted, stale := maps.Clone(k.wanted), maps.Clone(k.stale)
	k.mu.Unlock()
	news := map[schema.GroupKind]bool{}
	for _, gvk := range slices.SortedFunc(maps.Keys(wanted), compareKinds) {
		mapping, err := k.find(ctx, gvk, stale[gvk])
		before := wanted[gvk]
		if err == nil || before == nil || isUnserved(err) != isUnserved(before) || isUnserved(err) && err.Error() != before.Error() {
			news[gvk.GroupKind()] = true
		}
		k.record(gvk, mapping, err)
	}
	for _, gk := range k.resolve(ctx) {
		news[gk] = true
	}
	return news
}

func (k *kinds) record(gvk schema.GroupVersionKind, mapping *meta.RESTMapping, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if _, still := k.wanted[gvk]; still { // else nobody needs it any more, or it was found on the way
			k.wanted[gvk] = err
			k.noteLocked(err)
		}
		return
	}
	delete(k.wanted, gvk)
	k.knowLocked(gvk, kindOfMapping(mapping))
}

// knowLocked notes a kind. The caller holds mu.
func (k *kinds) knowLocked(gvk schema.GroupVersionKind, found kind) {
	k.known[gvk], k.named[found.resource] = found, gvk
}

func kindOfMapping(m *meta.RESTMapping) kind {
	return kind{resource: m.Resource, namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace}
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }
