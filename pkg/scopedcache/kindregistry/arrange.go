package kindregistry

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
)

// arrangeDirty arranges what has changed, and tells of it.
func (r *Registry) arrangeDirty() {
	dirty := r.dirty.takeAll()
	if watched := r.namespaces.kind; watched != nil {
		if _, ok := dirty[watched]; ok {
			delete(dirty, watched)
			r.mu.Lock()
			r.tendStreams(watched)
			r.mu.Unlock()
			r.followNamespaces()
		}
	}
	var changes, news []Change
	r.mu.Lock()
	for k := range dirty {
		if r.kinds[k.Key] == k {
			r.arrangeLocked(k)
			list, new := r.changesLocked(k)
			changes, news = append(changes, list...), append(news, new...)
		}
	}
	r.mu.Unlock()
	for _, c := range news {
		r.options.OnNews(c)
	}
	r.subscribed.tellAll(changes, r.toldStates)
}

// arrangeAll arranges all kinds, and has the changes told.
func (r *Registry) arrangeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.kinds {
		r.arrangeLocked(k)
		r.dirty.addKind(k)
	}
}

// arrangeLocked makes the streams of a kind those that there are to be, and opens and closes them.
func (r *Registry) arrangeLocked(k *kind) {
	names, known := r.namespaces.currentNames()
	wanted, decided := streamlayout.Layout{
		Kind: k.Kind, Rule: r.options.Namespaces.Rule, Needs: slices.Collect(maps.Values(k.needs)), Names: names, IsKnown: known,
		DecideEverywhere: func() access.Decision { return r.decideEverywhere(k) },
		Current:          k.currentStreams,
	}.StreamsWanted()
	reviewed := streamlayout.IsByPermission(k.Kind, r.options.Namespaces.Rule)
	for _, namespace := range slices.Sorted(maps.Keys(wanted)) {
		if !k.HasStream(namespace) {
			k.AddStream(k.NewStream(namespace, wanted[namespace], reviewed))
		}
	}
	for _, s := range k.AllStreams() { // after the new ones, which may take over what these have
		if _, ok := wanted[s.Namespace]; !ok {
			r.gate.CloseStream(s)
			k.RemoveStream(s)
		}
	}
	if len(k.needs) == 0 && k.everywhere != nil {
		r.gate.ForgetReview(k.everywhere)
	}
	r.tendStreams(k)
	if decided {
		k.SetPlanned()
	}
}

func (r *Registry) tendStreams(k *kind) {
	for _, s := range k.AllStreams() {
		r.gate.TendStream(s)
	}
}

func (k *kind) currentStreams() map[string]cache.Config {
	current := map[string]cache.Config{}
	for _, s := range k.AllStreams() {
		current[s.Namespace] = s.Config
	}
	return current
}

// decideEverywhere says whether a kind may be watched in all namespaces at once. It has that reviewed.
func (r *Registry) decideEverywhere(k *kind) access.Decision {
	if k.everywhere == nil {
		k.everywhere = k.NewStream(metav1.NamespaceAll, k.Everywhere, true)
	}
	return r.gate.DecideStream(k.everywhere)
}

// dirtyKinds are the kinds that the engine's goroutine is to look at. It is safe for concurrent use.
type dirtyKinds struct {
	woken chan struct{} // holds at most one

	mu    sync.Mutex // guards kinds; taken under any other lock
	kinds map[*kind]struct{}
}

func newDirtyKinds() *dirtyKinds {
	return &dirtyKinds{woken: make(chan struct{}, 1), kinds: map[*kind]struct{}{}}
}

// addKind has a kind arranged. It may be called with any lock held.
func (d *dirtyKinds) addKind(k *kind) {
	d.mu.Lock()
	d.kinds[k] = struct{}{}
	d.mu.Unlock()
	d.wakeUp()
}

// wakeUp has the goroutine look.
func (d *dirtyKinds) wakeUp() {
	wakeup.SendWake(d.woken)
}

func (d *dirtyKinds) takeAll() map[*kind]struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.kinds
	d.kinds = map[*kind]struct{}{}
	return taken
}
