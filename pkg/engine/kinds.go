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
)

// kind is what the API server says of a kind.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// Backoff between two lookups of kinds that the API server did not know.
const (
	lookupBackoffMin = time.Second
	lookupBackoffMax = 15 * time.Second
)

// kinds finds the resources behind kinds by discovery, in a goroutine of its
// own, so that no worker waits for it. Safe for concurrent use.
type kinds struct {
	mapper  meta.RESTMapper
	clock   clock.Clock
	changed func() // called without a lock after lookups gave something new
	wake    chan struct{}

	mu     sync.Mutex // guards what is below
	known  map[schema.GroupVersionKind]kind
	wanted map[schema.GroupVersionKind]error // nil: not looked up yet; else why it is not known
}

func newKinds(mapper meta.RESTMapper, clk clock.Clock, changed func()) *kinds {
	return &kinds{
		mapper: mapper, clock: clk, changed: changed,
		wake:   make(chan struct{}, 1),
		known:  map[schema.GroupVersionKind]kind{},
		wanted: map[schema.GroupVersionKind]error{},
	}
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
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	return kind{}, false, err
}

// run looks kinds up until ctx ends.
func (k *kinds) run(ctx context.Context) {
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
		if k.lookupAll() {
			k.changed()
		}
	}
}

// lookupAll looks up all kinds that are wanted, and says whether there is news.
func (k *kinds) lookupAll() bool {
	k.mu.Lock()
	wanted := maps.Clone(k.wanted)
	k.mu.Unlock()
	news := false
	for _, gvk := range slices.SortedFunc(maps.Keys(wanted), compareKinds) {
		mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		before := wanted[gvk]
		news = news || err == nil || before == nil || meta.IsNoMatchError(err) != meta.IsNoMatchError(before)
		k.record(gvk, mapping, err)
	}
	return news
}

func (k *kinds) record(gvk schema.GroupVersionKind, mapping *meta.RESTMapping, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.wanted[gvk] = err
		return
	}
	delete(k.wanted, gvk)
	k.known[gvk] = kind{resource: mapping.Resource, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }
