package stage

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Key names an owner, and its children, which have the same name.
type Key struct{ namespace, name string }

// childSet is a set of kinds of children.
type childSet uint8

// pair is what is known of an owner and its children.
type pair struct {
	// size and generation are the owner's; generation 0: there is no owner.
	size, generation int64
	// reported is the generation that the owner's status is about; 0: none.
	reported int64
	// children are those that there are; replicas is the size of the Deployment.
	children childSet
	replicas int64
}

// converged says whether nothing is left to do for the owner, which is to have all these children.
func (p pair) converged(all childSet) bool {
	return p.generation > 0 && p.reported >= p.generation && p.children == all && p.replicas == p.size
}

// observer follows owners and their children through watches and knows which
// owners have converged. Safe for concurrent use, but for wait, which one
// goroutine may be in at a time.
type observer struct {
	// kinds are those of the children, each a bit, and all is the set of them.
	kinds map[string]childSet
	all   childSet

	mu sync.Mutex // guards all below but bell
	// pairs has every owner and every child that there is, by the owner's name.
	pairs map[Key]pair
	// done is how many of pairs have converged.
	done int
	// last is when the last event came in.
	last time.Time
	// err is why a watch ended; nil while all run.
	err error

	// bell holds a token when something changed since wait looked last.
	bell chan struct{}
}

// newObserver returns an observer of owners with such children, that has seen nothing.
func newObserver(children []Child) *observer {
	o := &observer{kinds: map[string]childSet{}, pairs: map[Key]pair{}, bell: make(chan struct{}, 1)}
	for i, child := range children {
		o.kinds[child.Kind] = 1 << i
		o.all |= 1 << i
	}
	return o
}

// see takes in an event that came at the given time.
func (o *observer) see(e event, at time.Time) {
	k := Key{e.Object.Metadata.Namespace, e.Object.Metadata.Name}
	o.mu.Lock()
	before := o.pairs[k]
	after := e.change(before, o.kinds)
	o.done += o.countOne(after) - o.countOne(before)
	o.pairs[k] = after
	if after == (pair{}) {
		delete(o.pairs, k)
	}
	o.last = at
	o.mu.Unlock()
	o.ring()
}

// countOne is 1 for a pair that has converged, else 0.
func (o *observer) countOne(p pair) int {
	if p.converged(o.all) {
		return 1
	}
	return 0
}

// fail takes in that a watch ended.
func (o *observer) fail(err error) {
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
	o.ring()
}

// ring wakes wait.
func (o *observer) ring() {
	select {
	case o.bell <- struct{}{}:
	default:
	}
}

// wait blocks until the condition holds, and returns when the event came that
// made it so. The condition runs with the lock held. The error names what was
// waited for, and is that of ctx or of a watch that ended.
func (o *observer) wait(ctx context.Context, what string, holds func() bool) (time.Time, error) {
	for {
		at, met, err := o.look(holds)
		if err != nil || met {
			return at, err
		}
		select {
		case <-o.bell:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting until %s: %w; %s", what, context.Cause(ctx), o.summary())
		}
	}
}

// look evaluates the condition once.
func (o *observer) look(holds func() bool) (at time.Time, met bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return time.Time{}, false, o.err
	}
	return o.last, holds(), nil
}

// summary says how far things are.
func (o *observer) summary() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var owners, reported, whole int
	for _, p := range o.pairs {
		if p.generation > 0 {
			owners++
		}
		if p.reported > 0 {
			reported++
		}
		if p.children == o.all {
			whole++
		}
	}
	return fmt.Sprintf("%d owners, %d with a status, %d with all children, %d converged", owners, reported, whole, o.done)
}

// size returns the size of an owner, 0 if there is none.
func (o *observer) size(k Key) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pairs[k].size
}

// noOwner says whether there is no owner. It is for wait, which holds the lock.
func (o *observer) noOwner() bool {
	for _, p := range o.pairs {
		if p.generation > 0 {
			return false
		}
	}
	return true
}
