package access

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/internal/sharedrun"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// Options are the inputs of a Reviewer.
type Options struct {
	// Reviews returns the reviews of an identity; "" is Ambit's own. It is called for
	// each request, from the Reviewer's goroutines, concurrently: share clients there.
	// An error counts as a failed review. Required.
	Reviews func(identity string) (Reviews, error)
	// Clock is the time of everything here. Nil means the real one.
	Clock clock.WithDelayedExecution
	// Ceiling is how many requests are sent in any second, for all keys together. 0
	// means 20.
	Ceiling int
	// Jitter returns a duration from 0 to most, both included, at random: it spreads reviews
	// that would be sent together. It must be safe for concurrent use. Nil means math/rand.
	Jitter func(most time.Duration) time.Duration
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
}

// Reviewer knows what identities may do. Create it with New; ForUser makes one for another user of the same reviews. Its
// methods are safe for concurrent use, and none but Start waits for anything.
type Reviewer struct {
	*reviewPool

	// The pool's mu guards what is below.
	started, ended bool
	eventDriven    bool // this user has said so
}

// reviewPool has what some Reviewers know together.
type reviewPool struct {
	options Options
	clock   clock.WithDelayedExecution
	wake    chan struct{} // of the goroutine of Start; holds one
	shared  sharedrun.Group
	probes  atomic.Uint64

	mu          sync.Mutex // guards what is below, and all keys; never held over a call to others
	users       []*Reviewer
	places      map[Key]*reviewState
	schedule    schedule
	ceiling     processCeiling
	running     int // requests under way
	triggered   bool
	hints       recentInvalidations
	generations uint64    // the last that was given
	complained  time.Time // when a failed review was last logged
	owed        []*reviewState
}

// New returns a Reviewer, which asks nothing before Start.
func New(o Options) *Reviewer {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Ceiling <= 0 {
		o.Ceiling = defaultCeiling
	}
	if o.Jitter == nil {
		o.Jitter = func(most time.Duration) time.Duration { return rand.N(most + 1) }
	}
	return (&reviewPool{
		options: o, clock: o.Clock,
		wake:    make(chan struct{}, 1),
		places:  map[Key]*reviewState{},
		ceiling: newProcessCeiling(o.Ceiling),
	}).addUser()
}

// ForUser returns a Reviewer for another user: what both want to know of a key is asked once, under one ceiling. Each is
// started by its user, and reviews are sent while any is. What subscribers have declared to a Reviewer is released when it
// ends.
func (r *Reviewer) ForUser() *Reviewer { return r.addUser() }

func (r *reviewPool) addUser() *Reviewer {
	r.mu.Lock()
	defer r.mu.Unlock()
	user := &Reviewer{reviewPool: r}
	r.users = append(r.users, user)
	return user
}

// Require declares what a subscriber wants to know of one key, instead of what it
// declared for that key before; no accesses releases it. A key that nobody keeps
// is forgotten wholly. What is not answered by what is known is asked at once. payer is
// on whose account; a key that several subscribers keep is on that of the payer who has
// least to ask. accesses is kept: nobody may change it afterwards.
func (r *Reviewer) Require(sub ChangeHandler, at Key, accesses []Access, payer Payer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[at]
	if r.ended || p == nil && len(accesses) == 0 || p != nil && slices.Equal(p.subs[sub].accesses, accesses) && (len(accesses) == 0 || p.subs[sub].payer == payer) {
		return
	}
	if p == nil {
		p = r.newStateLocked(at)
	}
	r.keepLocked(p, sub, subscription{user: r, accesses: accesses, payer: payer})
}

// keepLocked replaces what a subscriber keeps of a key; mu is held.
func (r *reviewPool) keepLocked(p *reviewState, sub ChangeHandler, next subscription) {
	p.keepSubscription(sub, next, r.clock.Now())
	if len(p.subs) == 0 {
		r.schedule.removePlace(p)
		delete(r.places, p.Key)
		p.gone = true
		return
	}
	r.scheduleReview(p)
}

// markEnded releases all that subscribers have declared to this user.
func (r *Reviewer) markEnded() {
	r.mu.Lock()
	r.ended, r.eventDriven = true, false
	r.users = slices.DeleteFunc(r.users, func(other *Reviewer) bool { return other == r })
	for _, p := range r.places {
		for sub, kept := range p.subs {
			if kept.user == r {
				r.keepLocked(p, sub, subscription{})
			}
		}
	}
	r.mu.Unlock()
	r.followUsers()
}

// newStateLocked enters a key that nobody kept before; mu is held. A change that was hinted at
// a moment ago may not be in its first review.
func (r *reviewPool) newStateLocked(at Key) *reviewState {
	p := newReviewState(r, at)
	r.places[at] = p
	if hinted, c, recent := r.hints.lastInvalidation(at.Namespace, r.clock.Now()); recent {
		p.hint.resumeAt(hinted, c)
	}
	return p
}

// Decide returns what is known of an access, without asking. In a key that is not
// kept it is Unknown. Of an access that is not kept, in a key that is, it is what
// the last answer says, which may be old.
func (r *Reviewer) Decide(at Key, a Access) Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[at]
	if p == nil {
		return Unknown
	}
	return p.decideAccess(a, r.clock.Now())
}

// DecideAll returns what Decide and State say of some accesses in a key, all of them at one moment: Denied
// if any access is denied, else Unknown if any is, else Allowed. denied has those that are, in the order of
// accesses; the slice is the caller's. A key that is not kept is Unknown, also of no accesses.
func (r *Reviewer) DecideAll(at Key, accesses []Access) (decision Decision, denied []Access, state State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[at]
	if p == nil {
		return Unknown, nil, State{}
	}
	decision = Allowed
	now := r.clock.Now()
	for _, a := range accesses {
		switch p.decideAccess(a, now) {
		case Denied:
			denied = append(denied, a)
		case Unknown:
			decision = Unknown
		}
	}
	if len(denied) > 0 {
		decision = Denied
	}
	return decision, denied, p.currentState()
}

// State returns what is known of a key; of one that is not kept, the zero State.
func (r *Reviewer) State(at Key) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[at]
	if p == nil {
		return State{}
	}
	return p.currentState()
}

// Invalidate says that an RBAC object of a namespace changed: its keys, of all
// identities, are probed soon. "" is all keys of all namespaces.
func (r *Reviewer) Invalidate(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, c := r.clock.Now(), urgent
	r.hints.recordInvalidation(namespace, now)
	if namespace == "" {
		c = sweep
	}
	for at, p := range r.places {
		if namespace == "" || at.Namespace == namespace {
			p.hint.raiseFor(now, c)
			p.retry = time.Time{}
			r.scheduleReview(p)
		}
	}
}

// ReportDenied says that an own request was refused with 401 or 403. It is confirmed soon
// by a review that is sent after this call; if that says Allowed, by an access review
// for exactly this access, whose answer counts. Subscribers of the key are told
// afterwards, even if nothing changed.
func (r *Reviewer) ReportDenied(at Key, a Access) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.places[at]; p != nil {
		p.recordDenied(a, r.clock.Now())
		r.scheduleReview(p)
	}
}

// SetEventDriven says whether RBAC objects are watched, and Invalidate is called when they
// change: routine probes are rare then. Whoever turns it on or off calls Invalidate if
// something may have been missed. Of several users one is enough that has turned it on.
func (r *Reviewer) SetEventDriven(on bool) {
	r.mu.Lock()
	r.eventDriven = on
	r.mu.Unlock()
	r.followUsers()
}

// followUsers is called when what users say of RBAC objects may have changed.
func (r *reviewPool) followUsers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	on := slices.ContainsFunc(r.users, func(user *Reviewer) bool { return user.eventDriven })
	if r.triggered == on {
		return
	}
	r.triggered = on
	for _, at := range slices.SortedFunc(maps.Keys(r.places), compareKeys) {
		p := r.places[at]
		if !p.hasten {
			p.routine = p.rested.Add(r.reviewGap())
		}
		r.scheduleReview(p)
	}
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Identity, b.Identity), cmp.Compare(a.Namespace, b.Namespace))
}

// CountRequests returns how many requests have been sent.
func (r *Reviewer) CountRequests() uint64 { return r.probes.Load() }

// scheduleReview puts a key where it belongs in the schedule, and in the list of those whose
// subscribers are to be told; mu is held.
func (r *reviewPool) scheduleReview(p *reviewState) {
	r.schedule.removePlace(p)
	if c, due, any := p.nextReview(); any {
		r.schedule.putDue(p, c, due)
	}
	if p.owesNotification() && !p.owed {
		p.owed = true
		r.owed = append(r.owed, p)
	}
	r.wakeUp()
}

// wakeUp makes the goroutine of Start look for work.
func (r *reviewPool) wakeUp() {
	wakeup.SendWake(r.wake)
}

// owesNotification says whether subscribers are to be told now: of changes once everything is
// known, and at the end of a review that a refusal asked for.
func (p *reviewState) owesNotification() bool {
	return p.untold && p.isReviewed() || p.notify && p.isResting()
}

// isResting says whether no review is wanted that a refusal may have asked for.
func (p *reviewState) isResting() bool { return !p.flying && !p.isAsking() && !p.hasten }
