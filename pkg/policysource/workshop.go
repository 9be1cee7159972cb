package policysource

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// compilers is how many texts are compiled at a time: one of a namespace, so that
	// another namespace need not wait for it.
	compilers = 2
	// largeText is from how many bytes on a text is large: it takes so long that one of them is
	// compiled at a time, so that small ones need not wait for it.
	largeText = 32 << 10
	// compileEvery is how often one text is compiled that changes all the time, after
	// compileBurst times at once.
	compileEvery = 2 * time.Second
	compileBurst = 3
)

// workshop compiles texts beside the goroutine of decisions: the newest version of each, in
// turns by namespace, of which the files are one, and of one text not faster than so often. Of
// large texts one is compiled at a time.
// It is safe for concurrent use.
type workshop struct {
	clock clock.Clock
	// compile reads one text; it may take long. It ends soon after its context.
	compile func(context.Context, text) *reading
	// ready is called when a reading is new. It does not block.
	ready func()
	work  chan struct{} // holds one: there may be something to do

	mu     sync.Mutex // guards what is below; held over no call
	orders []text     // those that wait, one of each origin, as they came
	busy   map[string]bool
	large  bool           // a large text is compiled
	served map[string]int // by namespace: which of all turns was its last
	turns  int
	pace   map[Origin]pace
	made   map[Origin]made
}

// pace says when a text may be compiled again: not while it rests, as long as the last time
// took, nor when it has used up its turns.
type pace struct{ rest, used time.Time }

// made is the last reading of a text, and of which version.
type made struct {
	digest  string
	reading *reading
}

func newWorkshop(c clock.Clock, compile func(context.Context, text) *reading, ready func()) *workshop {
	return &workshop{
		clock: c, compile: compile, ready: ready, work: make(chan struct{}, 1),
		busy: map[string]bool{}, served: map[string]int{}, pace: map[Origin]pace{}, made: map[Origin]made{},
	}
}

// run compiles until ctx ends, and returns when nothing is compiled any more.
func (w *workshop) run(ctx context.Context) {
	var running sync.WaitGroup
	for range compilers {
		running.Go(func() {
			for ctx.Err() == nil {
				w.step(ctx)
			}
		})
	}
	running.Wait()
}

// step compiles one text, or waits until there may be one.
func (w *workshop) step(ctx context.Context) {
	t, wait := w.take(w.clock.Now())
	if t != nil {
		w.poke() // there may be one for the other compiler
		began := w.clock.Now()
		reading := w.compile(ctx, *t)
		w.finish(*t, reading, began)
		return
	}
	var over <-chan time.Time
	if wait > 0 {
		timer := w.clock.NewTimer(wait)
		defer timer.Stop()
		over = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-w.work:
	case <-over:
	}
}

func (w *workshop) poke() {
	select {
	case w.work <- struct{}{}:
	default: // somebody will look anyway
	}
}

// want has texts compiled: each takes the place of an older version that waits. What waits
// and is in none of them is dropped, and what was made of others is forgotten.
func (w *workshop) want(shown []text) {
	now := w.clock.Now()
	w.mu.Lock()
	there := map[Origin]bool{}
	waiting := map[Origin]int{}
	for i, t := range w.orders {
		waiting[t.origin] = i + 1
	}
	for _, t := range shown {
		there[t.origin] = true
		switch i := waiting[t.origin]; {
		case i > 0:
			w.orders[i-1] = t
		case w.made[t.origin].digest != t.digest:
			w.orders = append(w.orders, t)
		}
	}
	w.orders = slices.DeleteFunc(w.orders, func(t text) bool { return !there[t.origin] || w.made[t.origin].digest == t.digest })
	maps.DeleteFunc(w.made, func(o Origin, _ made) bool { return !there[o] })
	maps.DeleteFunc(w.pace, func(o Origin, p pace) bool { return !there[o] && p.rest.Before(now) && p.used.Before(now) })
	w.mu.Unlock()
	w.poke()
}

// take returns the text whose turn it is, and otherwise after which time there may be one; 0
// for when something happens.
func (w *workshop) take(now time.Time) (*text, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next, wait := -1, time.Duration(0)
	for i, t := range w.orders {
		if w.busy[t.origin.Namespace] || w.large && t.isLarge() {
			continue
		}
		if left := w.pace[t.origin].until().Sub(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		if next < 0 || w.served[t.origin.Namespace] < w.served[w.orders[next].origin.Namespace] {
			next = i
		}
	}
	if next < 0 {
		return nil, wait
	}
	t := w.orders[next]
	w.orders = slices.Delete(w.orders, next, next+1)
	w.busy[t.origin.Namespace] = true
	w.large = w.large || t.isLarge()
	w.turns++
	w.served[t.origin.Namespace] = w.turns
	p := w.pace[t.origin]
	if p.used.Before(now) {
		p.used = now
	}
	p.used = p.used.Add(compileEvery)
	w.pace[t.origin] = p
	return &t, 0
}

func (t text) isLarge() bool { return t.size >= largeText }

// until is when a text may be compiled again.
func (p pace) until() time.Time {
	if due := p.used.Add(-(compileBurst - 1) * compileEvery); due.After(p.rest) {
		return due
	}
	return p.rest
}

// finish keeps a reading.
func (w *workshop) finish(t text, r *reading, began time.Time) {
	now := w.clock.Now()
	w.mu.Lock()
	delete(w.busy, t.origin.Namespace)
	w.large = w.large && !t.isLarge()
	w.made[t.origin] = made{digest: t.digest, reading: r}
	p := w.pace[t.origin]
	p.rest = now.Add(now.Sub(began))
	w.pace[t.origin] = p
	if len(w.orders) == 0 && len(w.busy) == 0 {
		clear(w.served)
	}
	w.mu.Unlock()
	w.poke()
	w.ready()
}

// readingOf returns what was made of a text as it is; nil: nothing yet.
func (w *workshop) readingOf(t text) *reading {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.made[t.origin]; m.digest == t.digest {
		return m.reading
	}
	return nil
}
