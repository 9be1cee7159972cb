package access

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Options are the inputs of a Reviewer.
type Options struct {
	// Reviews returns the reviews of an identity; "" is Ambit's own. It is called for
	// each request, from the Reviewer's goroutines, concurrently: share clients there.
	// An error counts as a failed review. Required.
	Reviews func(identity string) (Reviews, error)
	// Clock is the time of everything here. Nil means the real one.
	Clock clock.WithDelayedExecution
	// Ceiling is how many requests are sent in any second, for all places together. 0
	// means 20.
	Ceiling int
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
}

// Reviewer knows what identities may do. Its methods are safe for concurrent use,
// and none but Start waits for anything.
type Reviewer struct {
	options Options
	clock   clock.WithDelayedExecution
	// random returns a part of n, evenly distributed from 0 to n.
	random  func(n time.Duration) time.Duration
	wake    chan struct{} // of the goroutine of Start; holds one
	started atomic.Bool
	probes  atomic.Uint64

	mu          sync.Mutex // guards what is below, and all places; never held over a call to others
	places      map[Key]*place
	schedule    schedule
	ceiling     ceiling
	running     int // requests under way
	triggered   bool
	hints       recentHints
	generations uint64    // the last that was given
	complained  time.Time // when a failed review was last logged
	owed        []*place
}

// New returns a Reviewer, which asks nothing before Start.
func New(o Options) *Reviewer {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Ceiling <= 0 {
		o.Ceiling = defaultCeiling
	}
	return &Reviewer{
		options: o, clock: o.Clock,
		random:  func(n time.Duration) time.Duration { return rand.N(n + 1) },
		wake:    make(chan struct{}, 1),
		places:  map[Key]*place{},
		ceiling: newCeiling(o.Ceiling),
	}
}

// Require declares what a subscriber wants to know of one place, instead of what it
// declared for that place before; no accesses releases it. A place that nobody keeps
// is forgotten wholly. What is not answered by what is known is asked at once. payer is
// on whose account; a place that several subscribers keep is on that of the payer who has
// least to ask. accesses is kept: nobody may change it afterwards.
func (r *Reviewer) Require(sub ChangeHandler, at Key, accesses []Access, payer Payer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[at]
	if p == nil && len(accesses) == 0 || p != nil && slices.Equal(p.subs[sub].accesses, accesses) && (len(accesses) == 0 || p.subs[sub].payer == payer) {
		return
	}
	if p == nil {
		p = r.newPlace(at)
	}
	p.keep(sub, accesses, payer, r.clock.Now())
	if len(p.subs) == 0 {
		r.schedule.remove(p)
		delete(r.places, at)
		p.gone = true
		return
	}
	r.plan(p)
}

// newPlace enters a place that nobody kept before; mu is held. A change that was hinted at
// a moment ago may not be in its first review.
func (r *Reviewer) newPlace(at Key) *place {
	p := newPlace(r, at)
	r.places[at] = p
	if hinted, c, recent := r.hints.last(at.Namespace, r.clock.Now()); recent {
		p.hint.resume(hinted, c)
	}
	return p
}

// Decide returns what is known of an access, without asking. In a place that is not
// kept it is Unknown. Of an access that is not kept, in a place that is, it is what
// the last answer says, which may be old.
func (r *Reviewer) Decide(at Key, a Access) Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[at]
	if p == nil || p.refusal != nil {
		return Unknown
	}
	if f := p.index[a]; f != nil && f.holds(r.clock.Now()) {
		return f.current
	}
	if p.rules == nil {
		return Unknown
	}
	return p.rules.Decide(a)
}

// State returns what is known of a place; of one that is not kept, the zero State.
func (r *Reviewer) State(at Key) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[at]
	if p == nil {
		return State{}
	}
	return State{Reviewed: p.reviewed(), At: p.at, Generation: p.generation, Refusal: p.refusal}
}

// Invalidate says that an RBAC object of a namespace changed: its places, of all
// identities, are probed soon. "" is all places of all namespaces.
func (r *Reviewer) Invalidate(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, c := r.clock.Now(), urgent
	r.hints.note(namespace, now)
	if namespace == "" {
		c = sweep
	}
	for at, p := range r.places {
		if namespace == "" || at.Namespace == namespace {
			p.hint.raise(now, c)
			p.retry = time.Time{}
			r.plan(p)
		}
	}
}

// ReportDenied says that an own request was refused with 401 or 403. It is confirmed soon
// by a review that is sent after this call; if that says Allowed, by an access review
// for exactly this access, whose answer counts. Subscribers of the place are told
// afterwards, even if nothing changed.
func (r *Reviewer) ReportDenied(at Key, a Access) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.places[at]; p != nil {
		p.refused(a, r.clock.Now())
		r.plan(p)
	}
}

// SetEventDriven says whether RBAC objects are watched, and Invalidate is called when they
// change: routine probes are rare then. Whoever turns it on or off calls Invalidate if
// something may have been missed.
func (r *Reviewer) SetEventDriven(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.triggered == on {
		return
	}
	r.triggered = on
	for _, p := range r.places {
		if !p.hasten {
			p.routine = p.rested.Add(r.gap())
		}
		r.plan(p)
	}
}

// Probes returns how many requests have been sent.
func (r *Reviewer) Probes() uint64 { return r.probes.Load() }

// plan puts a place where it belongs in the schedule, and in the list of those whose
// subscribers are to be told; mu is held.
func (r *Reviewer) plan(p *place) {
	r.schedule.remove(p)
	if c, due, any := p.next(); any {
		r.schedule.put(p, c, due)
	}
	if p.owes() && !p.owed {
		p.owed = true
		r.owed = append(r.owed, p)
	}
	r.look()
}

// look makes the goroutine of Start look for work.
func (r *Reviewer) look() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// owes says whether subscribers are to be told now: of changes once everything is
// known, and at the end of a review that a refusal asked for.
func (p *place) owes() bool {
	return p.untold && p.reviewed() || p.notify && p.resting()
}

// resting says whether no review is wanted that a refusal may have asked for.
func (p *place) resting() bool { return !p.flying && !p.asking() && !p.hasten }
