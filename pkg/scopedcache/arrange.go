package scopedcache

import (
	"maps"
	"slices"
	"sync"
)

// arrangeDirty arranges what has changed, and tells of it.
func (e *engine) arrangeDirty() {
	dirty := e.dirty.takeAll()
	if e.namespaces.kind != nil {
		if _, ok := dirty[e.namespaces.kind]; ok {
			delete(dirty, e.namespaces.kind)
			e.mu.Lock()
			e.gate.tendStreams(e.namespaces.kind)
			e.mu.Unlock()
			e.followNamespaces()
		}
	}
	var changes, news []Change
	e.mu.Lock()
	for k := range dirty {
		if e.kinds[k.key] == k {
			e.arrangeLocked(k)
			before := maps.Clone(k.told)
			list := e.changesLocked(k)
			changes, news = append(changes, list...), append(news, newsOf(list, before)...)
		}
	}
	e.mu.Unlock()
	e.logNews(news)
	e.subscribed.tellAll(changes, e.toldStates)
}

// arrangeLocked makes the streams of a kind those that there are to be, and opens and closes them.
func (e *engine) arrangeLocked(k *kind) {
	wanted, decided := e.streamsWanted(k)
	reviewed := e.isByPermission(k)
	for _, namespace := range slices.Sorted(maps.Keys(wanted)) {
		if !k.hasStream(namespace) {
			k.addStream(k.newStream(namespace, wanted[namespace], reviewed))
		}
	}
	for _, s := range k.allStreams() { // after the new ones, which may take over what these have
		if _, ok := wanted[s.namespace]; !ok {
			e.gate.dropStream(s)
		}
	}
	if len(k.needs) == 0 && k.everywhere != nil {
		e.gate.forgetReview(k.everywhere)
	}
	e.gate.tendStreams(k)
	if decided {
		k.setPlanned()
	}
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

// add has a kind arranged. It may be called with any lock held.
func (d *dirtyKinds) add(k *kind) {
	d.mu.Lock()
	d.kinds[k] = struct{}{}
	d.mu.Unlock()
	d.wakeUp()
}

// wakeUp has the goroutine look.
func (d *dirtyKinds) wakeUp() {
	select {
	case d.woken <- struct{}{}:
	default: // it will look anyway
	}
}

func (d *dirtyKinds) takeAll() map[*kind]struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.kinds
	d.kinds = map[*kind]struct{}{}
	return taken
}
