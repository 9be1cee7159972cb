package discovery

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// Options are the inputs of a Cache.
type Options struct {
	// Served asks the API server in which versions it serves kinds now, each of them once.
	// Nothing of the answer may be older than the call, and the cost must not grow with the
	// number of kinds. A kind that is not in the answer is not served. Required.
	Served func(context.Context, []schema.GroupKind) (map[schema.GroupKind]ServedKind, error)
	// Missing returns the resources of running informers that are answered "not found". It is
	// called once a round while a resource is stale, without a lock. Nil: there are none.
	Missing func() []schema.GroupVersionResource
	// Clock times the rounds. Nil means the real one.
	Clock clock.Clock
}

// Cache knows the resources behind kinds. Create it with New. It starts no goroutine. All
// methods are safe for concurrent use, but only one goroutine may call WaitForRound
// and PollRound.
type Cache struct {
	options Options
	wake    chan struct{} // holds at most one

	mu     sync.Mutex // guards what is below
	pace   roundPace
	turn   time.Time // before it no round is made for kinds that are looked up lazily and were answered
	calls  uint64    // of LookupKind; orders them with ReleaseUnneeded
	known  map[schema.GroupVersionKind]Resource
	kinds  map[schema.GroupVersionResource]schema.GroupVersionKind // those of known, by resource
	wanted map[schema.GroupVersionKind]*search                     // never in known as well
	stale  map[schema.GroupVersionResource]*staleResource          // each is in kinds
}

// search is a kind that is asked about until it is known.
type search struct {
	retry
	err    error  // why the kind is not known; nil: there was no answer yet
	lazy   bool   // nobody but LookupLazily has asked for it
	called uint64 // the last call that asked for it
}

// New makes a Cache that knows nothing.
func New(o Options) *Cache {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Cache{
		options: o,
		wake:    make(chan struct{}, 1),
		known:   map[schema.GroupVersionKind]Resource{},
		kinds:   map[schema.GroupVersionResource]schema.GroupVersionKind{},
		wanted:  map[schema.GroupVersionKind]*search{},
		stale:   map[schema.GroupVersionResource]*staleResource{},
	}
}

// LookupKind returns what is known of a kind: the resource; or why the last round did not find it;
// or neither (ok is false, err is nil) before the first answer. A kind that is not known is
// wanted from then on.
func (c *Cache) LookupKind(gvk schema.GroupVersionKind) (found Resource, ok bool, err error) {
	return c.lookupKind(gvk, false)
}

// LookupLazily is LookupKind for a kind that may never be served, and that hardly anybody waits for.
// It shares its first round with others that come within a second, and is asked about more and
// more rarely, and in turns where there are many. Once LookupKind has asked for the same kind, that holds.
func (c *Cache) LookupLazily(gvk schema.GroupVersionKind) (found Resource, ok bool, err error) {
	return c.lookupKind(gvk, true)
}

// LookupKinds is LookupKind for several kinds, and reports whether there is an answer for each. The
// next round asks about all of them. With several calls of LookupKind, the first may wake a round
// that begins before the second.
func (c *Cache) LookupKinds(kinds []schema.GroupVersionKind) (answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answered = true
	for _, gvk := range kinds {
		_, ok, err := c.lookupKindLocked(gvk, false)
		answered = answered && (ok || err != nil)
	}
	return answered
}

func (c *Cache) lookupKind(gvk schema.GroupVersionKind, lazy bool) (found Resource, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lookupKindLocked(gvk, lazy)
}

// lookupKindLocked is lookupKind for who holds mu.
func (c *Cache) lookupKindLocked(gvk schema.GroupVersionKind, lazy bool) (found Resource, ok bool, err error) {
	if found, ok = c.known[gvk]; ok {
		return found, true, nil
	}
	of := c.wanted[gvk]
	switch now := c.currentTime(); {
	case of == nil:
		of = &search{lazy: lazy, retry: newRetry(c.pace.firstDue(now, lazy))}
		c.wanted[gvk] = of
		c.wakeUp()
	case of.lazy && !lazy:
		of.lazy, of.retry = false, newRetry(now)
		c.wakeUp()
	}
	c.calls++
	of.called = c.calls
	return Resource{}, false, of.err
}

// LookupAnyVersion is LookupKind for what needs no particular version: rights, and the removal of
// objects. If the kind is served in another version, that one is returned. It is as lazy as
// LookupLazily: whoever needs the version in earnest calls LookupKind.
func (c *Cache) LookupAnyVersion(gvk schema.GroupVersionKind) (found Resource, ok bool) {
	found, ok, err := c.LookupLazily(gvk)
	if other := otherVersion(err); other != nil {
		return other.Resource, true
	}
	return found, ok
}

// LookupKnown returns what LookupKind would, and has nothing asked.
func (c *Cache) LookupKnown(gvk schema.GroupVersionKind) (found Resource, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.wanted[gvk]; of != nil {
		return Resource{}, false, of.err
	}
	found, ok = c.known[gvk]
	return found, ok, nil
}

// AnyUnserved reports whether a wanted kind is known not to be served in its version.
func (c *Cache) AnyUnserved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.wanted {
		if IsUnserved(of.err) {
			return true
		}
	}
	return false
}

// ReleaseUnneeded ends the search for kinds, except for those that needed returns, and reports whether
// it has ended any. needed is called without a lock, and only if there is something to end. A
// kind that is looked up meanwhile stays wanted.
func (c *Cache) ReleaseUnneeded(kinds []schema.GroupVersionKind, needed func() []schema.GroupVersionKind) bool {
	kinds, began := c.onlyWanted(kinds)
	if len(kinds) == 0 {
		return false
	}
	unneeded := map[schema.GroupVersionKind]bool{}
	for _, gvk := range kinds {
		unneeded[gvk] = true
	}
	for _, gvk := range needed() {
		delete(unneeded, gvk)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.wanted)
	for gvk := range unneeded {
		if of := c.wanted[gvk]; of != nil && of.called <= began {
			delete(c.wanted, gvk)
		}
	}
	return len(c.wanted) < before
}

// onlyWanted returns those of some kinds that are wanted, and the last call of LookupKind.
func (c *Cache) onlyWanted(kinds []schema.GroupVersionKind) (wanted []schema.GroupVersionKind, called uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gvk := range kinds {
		if c.wanted[gvk] != nil {
			wanted = append(wanted, gvk)
		}
	}
	return wanted, c.calls
}

// RefreshAll makes all that is wanted or stale due: something has changed that may be about any
// kind.
func (c *Cache) RefreshAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.currentTime()
	c.turn = now
	for _, of := range c.wanted {
		of.retry = newRetry(now)
	}
	for _, s := range c.stale {
		s.retry = newRetry(now)
	}
	c.wakeUp()
}

// wakeUp has Wait look at what is due. It never blocks.
func (c *Cache) wakeUp() {
	wakeup.SendWake(c.wake)
}

func (c *Cache) currentTime() time.Time { return c.options.Clock.Now() }
