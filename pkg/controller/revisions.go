package controller

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// revisions are the policy controllers there are: one for each policy, and older ones of a policy
// that was changed, which still hold what they needed. Safe for concurrent use. Who gets
// policy controllers to release is the only one who does.
type revisions struct {
	mu      sync.Mutex // guards what is below, and workers and worked of policy controllers; taken before theirs
	current map[string]*policyController
	older   map[string][]olderRevision // by policy, oldest first; never an empty list
	// dropped: a policy was changed or removed that was worked for, so that owners that
	// are younger than the controller may have something of what a policy was before.
	dropped bool
}

// olderRevision is a version that was replaced.
type olderRevision struct {
	op *policyController
	// until is when it is released at the latest; zero: when no worker is in it.
	until time.Time
}

// keepOlder is how long what a version needed is kept for the one that replaces it.
const keepOlder = 30 * time.Second

func newRevisions() *revisions {
	return &revisions{current: map[string]*policyController{}, older: map[string][]olderRevision{}}
}

// currentOf returns the policy controller of a policy; nil: there is none.
func (v *revisions) currentOf(policy string) *policyController {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.current[policy]
}

// allCurrent returns the policy controllers of all policies, sorted by policy. The slice is the caller's.
func (v *revisions) allCurrent() []*policyController {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.allLocked()
}

func (v *revisions) allLocked() []*policyController {
	list := make([]*policyController, 0, len(v.current))
	for _, id := range slices.Sorted(maps.Keys(v.current)) {
		list = append(list, v.current[id])
	}
	return list
}

// allRevisions returns all, and then the older versions.
func (v *revisions) allRevisions() []*policyController {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := v.allLocked()
	for _, id := range slices.Sorted(maps.Keys(v.older)) {
		for _, before := range v.older[id] {
			list = append(list, before.op)
		}
	}
	return list
}

// hasDropped says whether a policy that was worked for was ever changed or removed, if op,
// which may be nil, is about to be.
func (v *revisions) hasDropped(op *policyController) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dropped || op != nil && op.worked
}

// enterRevision returns the policy controller of a policy for a worker, who has to leave it; nil: there
// is none.
func (v *revisions) enterRevision(policy string) *policyController {
	v.mu.Lock()
	defer v.mu.Unlock()
	op := v.current[policy]
	if op != nil {
		op.workers++
		op.worked = true
	}
	return op
}

// leaveRevision ends what enter began. If there is another version of the policy by then, it
// inherits the owner that was worked on, if there was one.
func (v *revisions) leaveRevision(op *policyController, worked workedOwner) (replaced bool, release []*policyController) {
	v.mu.Lock()
	defer v.mu.Unlock()
	op.workers--
	next := v.current[op.id]
	replaced = next != op && next != nil
	if replaced && worked.uid != "" {
		next.inheritOwner(op, worked)
	}
	return replaced, v.takeLocked(op.id)
}

// replaceCurrent puts other policy controllers in the place of those there are. Those that stay are the
// same in next. One that was replaced is released by until at the latest, one whose
// policy is gone as soon as no worker is in it, and one that never had a worker has
// nothing to give back. changed are the policies that have another policy controller, sorted.
func (v *revisions) replaceCurrent(next map[string]*policyController, until time.Time) (changed []string, release []*policyController) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(v.current)) {
		op, now := v.current[id], next[id]
		if now == op {
			continue
		}
		op.replaced.Store(true)
		v.dropped = v.dropped || op.worked
		if op.worked {
			v.older[id] = append(v.older[id], olderRevision{op: op, until: until})
		}
		if now == nil {
			v.expireLocked(id)
		} else {
			now.succeeding.Store(len(v.older[id]) > 0)
		}
		release = append(release, v.takeLocked(id)...)
	}
	for _, id := range slices.Sorted(maps.Keys(next)) {
		if v.current[id] != next[id] {
			changed = append(changed, id)
		}
	}
	v.current = next
	return changed, release
}

// settleRevision says of an policy controller whether what older versions of its policy needed is still
// wanted: until it is settled, and for keepOlder at most. wait is until that is over; 0:
// there is no older version any more, or only such that workers are in.
func (v *revisions) settleRevision(op *policyController, settled bool, now time.Time) (release []*policyController, wait time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current[op.id] != op {
		return nil, 0
	}
	list := v.older[op.id]
	for i := range list {
		left := list[i].until.Sub(now)
		if settled || left <= 0 {
			list[i].until = time.Time{}
			continue
		}
		wait = shorterWait(wait, left)
	}
	if wait == 0 {
		op.succeeding.Store(false)
	}
	return v.takeLocked(op.id), wait
}

// expireLocked has the older versions of a policy released. The caller holds mu.
func (v *revisions) expireLocked(id string) {
	for i := range v.older[id] {
		v.older[id][i].until = time.Time{}
	}
}

// takeLocked takes out the older versions of a policy that are to be released now. The
// caller holds mu.
func (v *revisions) takeLocked(id string) (release []*policyController) {
	list := v.older[id]
	if len(list) == 0 {
		return nil
	}
	rest := list[:0:0]
	for _, before := range list {
		if before.until.IsZero() && before.op.workers == 0 {
			release = append(release, before.op)
		} else {
			rest = append(rest, before)
		}
	}
	if v.older[id] = rest; len(rest) == 0 {
		delete(v.older, id)
	}
	return release
}

// isBusy says whether a worker is in an older version of a policy.
func (v *revisions) isBusy(policy string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.older[policy], func(before olderRevision) bool { return before.op.workers > 0 })
}

// clearOlder takes out all older versions; no worker is in them any more.
func (v *revisions) clearOlder() (release []*policyController) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(v.older)) {
		v.expireLocked(id)
		release = append(release, v.takeLocked(id)...)
	}
	return release
}
