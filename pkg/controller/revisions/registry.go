// Package revisions keeps, for each policy, the revision that runs and the older ones that still hold
// what they needed, and decides when an older one gives that back. It does no I/O, reads no clock, and
// knows nothing of what a revision is: it holds one value for each.
//
// # The life of a revision
//
//  1. New makes a revision, and ReplaceCurrent makes it the current one of its policy. One that was
//     replaced does not come back.
//  2. A worker calls EnterCurrent when it begins to work for a policy, and LeaveRevision when it has
//     done with what it was given. In between the revision may be replaced: then the worker is told so
//     when it leaves, and the next revision hears of what was done before anybody can see the worker
//     gone.
//  3. A revision that was replaced becomes an older one, if a worker was ever in it; one that never had
//     a worker has nothing to give back.
//  4. An older revision is released as soon as it is of no use any more and no worker is in it. It is of
//     no use when the current revision is settled (SettleRevision), when KeepOlder is over, or when its
//     policy is gone. A policy that comes back does not change that.
//
// What is released is returned by the call that ended its use, once, and is the caller's to give back.
// At the end, when no worker is left, ClearOlder returns all older revisions.
package revisions

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// KeepOlder is how long what a revision needed is kept for the one that replaces it.
const KeepOlder = 30 * time.Second

// Registry has the revisions of all policies. The zero value is ready, and has none. Safe for concurrent
// use.
type Registry[R any] struct {
	mu      sync.Mutex                    // guards what is below, and the counts of revisions
	current map[string]*Revision[R]       // by policy; the map is never changed, only replaced
	older   map[string][]olderRevision[R] // by policy, oldest first; never an empty list
	// hasDropped: a revision that was worked for was replaced.
	hasDropped bool
}

// Revision is one revision of one policy, as a Registry counts it. Make it with New. It belongs to one
// Registry. Safe for concurrent use.
type Revision[R any] struct {
	policy string
	value  R

	// isReplaced and isSucceeding are written under mu of the Registry.
	isReplaced, isSucceeding atomic.Bool

	// What is below is guarded by mu of the Registry.

	workers   int  // how many are in it
	hasWorked bool // a worker has entered it
}

// New makes a revision of a policy, with the value that stands for it. No worker is in it, and it is in
// no Registry yet.
func New[R any](policy string, value R) *Revision[R] {
	return &Revision[R]{policy: policy, value: value}
}

// Value is the value that New was given.
func (r *Revision[R]) Value() R { return r.value }

// IsReplaced reports whether the revision was the current one of its policy, and is not any more: there
// is another one, or the policy is gone. It takes no lock.
func (r *Revision[R]) IsReplaced() bool { return r.isReplaced.Load() }

// IsSucceeding reports whether the revision has replaced others that still hold what they needed. It
// becomes false when SettleRevision finds that over. It takes no lock.
func (r *Revision[R]) IsSucceeding() bool { return r.isSucceeding.Load() }

// olderRevision is a revision that was replaced.
type olderRevision[R any] struct {
	*Revision[R]
	// until is when it is of no use any more, at the latest; zero: it is of none now.
	until time.Time
}

// CurrentOf returns the value of a policy's current revision; the zero value: there is none.
func (g *Registry[R]) CurrentOf(policy string) (value R) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.current[policy]; r != nil {
		value = r.value
	}
	return value
}

// AllCurrent returns the current revisions of all policies, sorted by policy. The slice is the caller's.
func (g *Registry[R]) AllCurrent() []R {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allCurrentLocked()
}

// allCurrentLocked is AllCurrent. The caller holds mu.
func (g *Registry[R]) allCurrentLocked() []R {
	list := make([]R, 0, len(g.current))
	for _, policy := range slices.Sorted(maps.Keys(g.current)) {
		list = append(list, g.current[policy].value)
	}
	return list
}

// AllRevisions returns what AllCurrent does, and then the older revisions, sorted by policy and age, the
// oldest first. The slice is the caller's.
func (g *Registry[R]) AllRevisions() []R {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.allCurrentLocked()
	for _, policy := range slices.Sorted(maps.Keys(g.older)) {
		for _, before := range g.older[policy] {
			list = append(list, before.value)
		}
	}
	return list
}

// HasDropped reports whether a revision that was worked for was ever replaced, or is about to be if
// that of the given policy is.
func (g *Registry[R]) HasDropped(policy string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.current[policy]
	return g.hasDropped || r != nil && r.hasWorked
}

// IsBusy reports whether a worker is in an older revision of a policy.
func (g *Registry[R]) IsBusy(policy string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.older[policy], func(before olderRevision[R]) bool { return before.workers > 0 })
}

// EnterCurrent puts a worker into the current revision of a policy and returns that: the worker has to
// leave it. Nil: there is none.
func (g *Registry[R]) EnterCurrent(policy string) *Revision[R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.current[policy]
	if r != nil {
		r.workers++
		r.hasWorked = true
	}
	return r
}

// LeaveRevision ends what EnterCurrent began, and reports whether its policy has another current
// revision by then. If it has, inherit is called with the value of that, before the worker has left: the
// Registry is locked meanwhile, so that nobody finds the worker gone and the next revision ignorant,
// nor replaces that before it knows. inherit must not call the Registry. release is what is to be given
// back.
func (g *Registry[R]) LeaveRevision(r *Revision[R], inherit func(next R)) (hasNext bool, release []R) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := g.current[r.policy]
	if hasNext = next != nil && next != r; hasNext {
		inherit(next.value)
	}
	r.workers--
	return hasNext, g.takeLocked(r.policy)
}

// ReplaceCurrent puts other revisions, by policy, in the place of the current ones. Those that stay are
// the same in next, which is the Registry's from then on. What a revision needed that another one
// replaces now is of no use after KeepOlder; that of one whose policy is gone is of none at once. changed
// are the policies that have another revision, sorted; those that are gone are not in it. release is
// what is to be given back.
func (g *Registry[R]) ReplaceCurrent(next map[string]*Revision[R], now time.Time) (changed []string, release []R) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, policy := range slices.Sorted(maps.Keys(g.current)) {
		if r, other := g.current[policy], next[policy]; other != r {
			release = append(release, g.replaceLocked(r, other, now)...)
		}
	}
	for _, policy := range slices.Sorted(maps.Keys(next)) {
		if g.current[policy] != next[policy] {
			changed = append(changed, policy)
		}
	}
	g.current = next
	return changed, release
}

// replaceLocked makes a revision an older one, which next, or nobody, replaces. The caller holds mu.
func (g *Registry[R]) replaceLocked(r, next *Revision[R], now time.Time) (release []R) {
	r.isReplaced.Store(true)
	g.hasDropped = g.hasDropped || r.hasWorked
	if r.hasWorked {
		if g.older == nil {
			g.older = map[string][]olderRevision[R]{}
		}
		g.older[r.policy] = append(g.older[r.policy], olderRevision[R]{Revision: r, until: now.Add(KeepOlder)})
	}
	if next == nil {
		g.expireLocked(r.policy)
	} else {
		next.isSucceeding.Store(len(g.older[r.policy]) > 0)
	}
	return g.takeLocked(r.policy)
}

// SettleRevision has the older revisions of a policy released that are of no use to a revision any more:
// if it is settled none is, and else each is until KeepOlder is over. wait is how long the next of them
// is still of use; 0: none is, though workers may be in some. If the revision is not the current one,
// nothing happens.
func (g *Registry[R]) SettleRevision(r *Revision[R], isSettled bool, now time.Time) (release []R, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current[r.policy] != r {
		return nil, 0
	}
	list := g.older[r.policy]
	for i := range list {
		left := list[i].until.Sub(now)
		switch {
		case isSettled || left <= 0:
			list[i].until = time.Time{}
		case wait == 0 || left < wait:
			wait = left
		}
	}
	if wait == 0 {
		r.isSucceeding.Store(false)
	}
	return g.takeLocked(r.policy), wait
}

// ClearOlder returns all older revisions, sorted by policy and age, and forgets them. No worker is in
// any revision any more.
func (g *Registry[R]) ClearOlder() (release []R) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, policy := range slices.Sorted(maps.Keys(g.older)) {
		g.expireLocked(policy)
		release = append(release, g.takeLocked(policy)...)
	}
	return release
}

// expireLocked ends the use of all older revisions of a policy. The caller holds mu.
func (g *Registry[R]) expireLocked(policy string) {
	for i := range g.older[policy] {
		g.older[policy][i].until = time.Time{}
	}
}

// takeLocked takes out the older revisions of a policy that are of no use and that no worker is in. The
// caller holds mu.
func (g *Registry[R]) takeLocked(policy string) (release []R) {
	list := g.older[policy]
	if len(list) == 0 {
		return nil
	}
	rest := list[:0:0]
	for _, before := range list {
		if before.until.IsZero() && before.workers == 0 {
			release = append(release, before.value)
		} else {
			rest = append(rest, before)
		}
	}
	if g.older[policy] = rest; len(rest) == 0 {
		delete(g.older, policy)
	}
	return release
}
