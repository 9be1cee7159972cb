package informer

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/ambit-dev/ambit/pkg/internal/sharedrun"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// pool has the informers that some Sets share, and their streams.
type pool struct {
	env       *environment
	running   sharedrun.Group
	wakeStart chan struct{} // holds at most one; runStreams looks at unstarted

	// mu guards what is below. It is never held over I/O or a handler's call.
	// A stream's mu and an informer's may be taken under it, never the other way round.
	mu        sync.Mutex
	sets      []*Set // that have started and not ended
	informers map[informerKey]*sharedInformer
	streams   map[Key][]*stream // by Key.ofStream: more than one where they are not shared
	unstarted []*stream
}

// informerKey is what tells informers apart.
type informerKey struct {
	Key
	storage Storage
}

func newPool(o Options) *pool {
	p := &pool{wakeStart: make(chan struct{}, 1), informers: map[informerKey]*sharedInformer{}, streams: map[Key][]*stream{}}
	p.env = newEnvironment(o, p.wakeDegraded)
	p.env.onWatchError = p.reportWatchError
	return p
}

func (p *pool) newSet(o UserOptions) *Set {
	return &Set{pool: p, onError: o.OnWatchError, reauthorize: o.Reauthorize, required: map[EventHandler][]Lister{}, uses: map[*sharedInformer]int{}}
}

// runStreams runs the streams that are needed until ctx ends, and returns when every goroutine that it started has ended.
func (p *pool) runStreams(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil {
		for _, s := range p.takeUnstarted() {
			running.Go(func() { s.runEpochs(ctx) })
		}
		select {
		case <-ctx.Done():
		case <-p.wakeStart:
		}
	}
}

func (p *pool) takeUnstarted() []*stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.unstarted
	p.unstarted = nil
	return taken
}

// addInformerLocked makes an informer, which feedInformerLocked has fed.
func (p *pool) addInformerLocked(need Interest) *sharedInformer {
	st := newSharedInformer(p.env, need)
	p.informers[informerKey{need.Key, need.Storage}] = st
	return st
}

// feedInformerLocked has an informer fed by a stream that it can share, or by one of its own. A stream that is open may
// list at once: who is to be told of the first list is a handler before that.
func (p *pool) feedInformerLocked(st *sharedInformer) {
	for _, s := range p.streams[st.key.ofStream()] {
		if s.canShare(st) {
			s.joinStream(st)
			return
		}
	}
	p.addStreamLocked(st)
}

func (p *pool) addStreamLocked(st *sharedInformer) {
	s := newStream(p.env, st, p.detachInformer)
	p.streams[s.key] = append(p.streams[s.key], s)
	p.unstarted = append(p.unstarted, s)
	wakeup.SendWake(p.wakeStart)
}

// removeInformerLocked ends an informer that nobody needs, and its stream if nobody else has that.
func (p *pool) removeInformerLocked(st *sharedInformer) {
	delete(p.informers, informerKey{st.key, st.storage})
	st.stopInformer()
	p.leaveStreamLocked(st)
}

func (p *pool) leaveStreamLocked(st *sharedInformer) {
	s := st.stream
	if !s.leaveStream(st) {
		return
	}
	isLeft := func(other *stream) bool { return other == s }
	if p.streams[s.key] = slices.DeleteFunc(p.streams[s.key], isLeft); len(p.streams[s.key]) == 0 {
		delete(p.streams, s.key)
	}
	p.unstarted = slices.DeleteFunc(p.unstarted, isLeft)
	s.stopStream()
}

// detachInformer gives an informer a stream of its own, if it is still needed.
func (p *pool) detachInformer(st *sharedInformer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.informers[informerKey{st.key, st.storage}] != st {
		return
	}
	p.leaveStreamLocked(st)
	p.addStreamLocked(st)
}

// allInformers are sorted by key.
func (p *pool) allInformers() []*sharedInformer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.informers), compareInformers)
}

func compareInformers(a, b *sharedInformer) int { return compareKeys(a.key, b.key) }

// allStreams returns the streams with an informer for which match is true, sorted by key.
func (p *pool) allStreams(match func(Key) bool) (list []*stream) {
	found := map[*stream]bool{}
	for _, st := range p.allInformers() {
		if s := st.currentStream(); match(st.key) && !found[s] {
			found[s] = true
			list = append(list, s)
		}
	}
	return list
}

// informerOf returns the informer of a key with a store of package objectstore, or nil.
func (p *pool) informerOf(key Key) *sharedInformer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.informers[informerKey{Key: key}]
}

// informersOf returns all informers of a key.
func (p *pool) informersOf(key Key) (list []*sharedInformer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.streams[key.ofStream()] {
		for _, st := range s.currentInformers() {
			if st.key == key {
				list = append(list, st)
			}
		}
	}
	return list
}

// wakeDegraded ends the backoff of all informers that wait for the API server.
func (p *pool) wakeDegraded() {
	for _, st := range p.allInformers() {
		st.wakeIfDegraded()
	}
}

// reportWatchError calls the hooks of those who need an informer.
func (p *pool) reportWatchError(st *sharedInformer, w WatchError) {
	p.mu.Lock()
	sets := slices.Clone(p.sets)
	p.mu.Unlock()
	for _, s := range sets {
		if s.onError != nil && s.needsInformer(st) {
			s.onError(w)
		}
	}
}

// setReauthorizeLocked reauthorizes if any Set that runs wants that. It reports whether that is new.
func (p *pool) setReauthorizeLocked() (on, isNew bool) {
	on = slices.ContainsFunc(p.sets, func(s *Set) bool { return s.reauthorize })
	return on, p.env.requests.SetReauthorize(on)
}
