package controller

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

	"github.com/ambit-dev/ambit/pkg/informer"
)

// kind is what the API server says of a kind.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// kinds finds the resources behind kinds by discovery, in a goroutine of its own, so
// that no worker waits for it. All that is looked up at a time is one round: it costs the
// same whatever the number of kinds (Options.Served). Safe for concurrent use.
type kinds struct {
	mapper meta.RESTMapper
	served func(context.Context, []schema.GroupKind) (map[schema.GroupKind]ServedKind, error) // Options.Served; may be nil
	clock  clock.Clock
	// changed is called without a lock after lookups gave something new, with the kinds.
	changed func(map[schema.GroupKind]bool)
	wake    chan struct{}

	mu     sync.Mutex // guards what is below
	rounds roundPace
	known  map[schema.GroupVersionKind]kind
	wanted map[schema.GroupVersionKind]*search
	named  map[schema.GroupVersionResource]schema.GroupVersionKind // the kinds of known, by resource
	// doubts are the resources whose streams were answered that they are not there.
	doubts map[schema.GroupVersionResource]*doubt
}

func newKinds(o Options, changed func(map[schema.GroupKind]bool)) *kinds {
	return &kinds{
		mapper: o.Mapper, served: o.Served, clock: o.Clock, changed: changed,
		wake:   make(chan struct{}, 1),
		known:  map[schema.GroupVersionKind]kind{},
		wanted: map[schema.GroupVersionKind]*search{},
		named:  map[schema.GroupVersionResource]schema.GroupVersionKind{},
		doubts: map[schema.GroupVersionResource]*doubt{},
	}
}

// lookup says what is known of a kind, without a request: the kind; or an error
// when the last lookup failed; or neither (ok false, err nil) when the first
// lookup is still to come. A kind that is not known is looked up from then on
// until it is.
func (k *kinds) lookup(gvk schema.GroupVersionKind) (found kind, ok bool, err error) {
	return k.lookupFor(gvk, false)
}

// lookupFor is lookup. recorded: only the record of an owner names the kind. Nobody but
// its owner waits for it, so that it is looked up ever more rarely.
func (k *kinds) lookupFor(gvk schema.GroupVersionKind, recorded bool) (found kind, ok bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, ok = k.known[gvk]; ok {
		return found, true, nil
	}
	of := k.wanted[gvk]
	switch now := k.clock.Now(); {
	case of == nil:
		of = &search{recorded: recorded, retry: newRetry(k.rounds.first(now, recorded))}
		k.wanted[gvk] = of
		poke(k.wake)
	case of.recorded && !recorded:
		of.recorded, of.retry = false, newRetry(now)
		poke(k.wake)
	}
	return kind{}, false, of.err
}

// isKnown reports whether the resource of a kind is known.
func (k *kinds) isKnown(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.known[gvk]
	return known
}

// isAnswered reports whether it is known how a kind is served, or that it is not.
func (k *kinds) isAnswered(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.known[gvk]
	of := k.wanted[gvk]
	return known || of != nil && isUnserved(of.err)
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

// again looks what is not known up soon, and what is doubted: something has changed that
// may be about any kind.
func (k *kinds) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	for _, of := range k.wanted {
		of.retry = newRetry(now)
	}
	for _, d := range k.doubts {
		d.retry = newRetry(now)
	}
	poke(k.wake)
}

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
	for _, of := range k.wanted {
		if isUnserved(of.err) {
			return true
		}
	}
	return false
}

// run looks kinds up until ctx ends. missing are the streams whose resource is not there.
func (k *kinds) run(ctx context.Context, missing func() []informer.Key) {
	for k.sleep(ctx) {
		k.forget(missing)
		if news := k.lookupAll(ctx); len(news) > 0 {
			k.changed(news)
		}
	}
}

// sleep waits until a round is due; false: ctx has ended.
func (k *kinds) sleep(ctx context.Context) bool {
	for {
		wait, any := k.untilRound()
		if any && wait <= 0 {
			return ctx.Err() == nil
		}
		var over <-chan time.Time
		stop := func() bool { return false }
		if any {
			timer := k.clock.NewTimer(wait)
			over, stop = timer.C(), timer.Stop
		}
		select {
		case <-ctx.Done():
			stop()
			return false
		case <-k.wake:
		case <-over:
		}
		stop()
	}
}

// lookupAll looks up all kinds that are wanted or doubted, and returns those of which there
// is news. One that is not due yet is answered as well: that costs nothing more.
func (k *kinds) lookupAll(ctx context.Context) map[schema.GroupKind]bool {
	wanted, doubted := k.pending()
	if len(wanted)+len(doubted) == 0 {
		return nil
	}
	asked := k.clock.Now()
	answers := k.ask(ctx, slices.Concat(slices.Collect(maps.Keys(wanted)), slices.Collect(maps.Values(doubted))))
	news := map[schema.GroupKind]bool{}
	for _, gvk := range slices.SortedFunc(maps.Keys(wanted), compareKinds) {
		mapping, err := answers.find(gvk)
		before := wanted[gvk]
		if err == nil || before == nil || isUnserved(err) != isUnserved(before) || isUnserved(err) && err.Error() != before.Error() {
			news[gvk.GroupKind()] = true
		}
		k.record(gvk, mapping, err)
	}
	for resource, gvk := range doubted {
		mapping, err := answers.find(gvk)
		if err == nil && k.renew(resource, gvk, kindOfMapping(mapping)) || k.answer(resource, gvk, asked, err) {
			news[gvk.GroupKind()] = true
		}
	}
	return news
}

// pending are the kinds that are wanted, each with why it is not known, and those of
// doubted resources. It begins a round.
func (k *kinds) pending() (wanted map[schema.GroupVersionKind]error, doubted map[schema.GroupVersionResource]schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wanted = make(map[schema.GroupVersionKind]error, len(k.wanted))
	for gvk, of := range k.wanted {
		wanted[gvk] = of.err
	}
	doubted = make(map[schema.GroupVersionResource]schema.GroupVersionKind, len(k.doubts))
	for resource := range k.doubts {
		doubted[resource] = k.named[resource]
	}
	k.rounds.take(k.clock.Now())
	return wanted, doubted
}

func (k *kinds) record(gvk schema.GroupVersionKind, mapping *meta.RESTMapping, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if of, still := k.wanted[gvk]; still { // else nobody needs it any more, or it was found on the way
			of.failed(k.clock.Now(), err)
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
