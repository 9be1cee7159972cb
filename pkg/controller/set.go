package controller

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/revisions"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Set makes the controller run these policies, and retire those, instead of what it ran
// before. To retire a policy is to clean up after it, whether it is suspended or not: of
// each owner what is ours is removed as the policy says, and what the policy ensures as
// well; RetiredOf says how far that is. No policy is in both lists; policy.CheckConflicts says which
// can run beside each other, and policy.CheckRemoval which can be retired beside them: an error
// is theirs, and changes nothing. One that is retired may have owners in common with one that
// runs: it says nothing in their statuses, and the other one waits for it at owners that have
// its record.
//
// A policy that is what it was (namespace, name, Hash, identity, and whether it is retired)
// is left alone wholly: its state, its streams, and what is known of its rights. Of one
// that has changed, what the new version needs as well stays open: the old one gives back
// what it had when the new one has looked at every owner that the old one knew, or after
// 30 s. Owners that only the old version wanted are retired by the new one. A policy that
// is in neither list any more gives back all it had; its children stay.
//
// Set may be called before Start, and at any time after, by one goroutine at a time. It
// makes no request, and waits for no worker: one that works on an owner finishes with the
// version that it began with, and the owner is looked at again. The programs are the
// controller's from then on.
func (e *Controller) Set(programs, retire []*policy.Program) error {
	if err := errors.Join(policy.CheckConflicts(programs), policy.CheckRemoval(programs, retire)); err != nil {
		return err
	}
	e.setMutex.Lock()
	defer e.setMutex.Unlock()
	now := e.currentTime()
	next := make(map[string]*revisions.Revision[*policyController], len(programs)+len(retire))
	for _, program := range programs {
		next[idOf(program)] = e.policyControllerFor(program, false, now).revision
	}
	for _, program := range retire {
		next[idOf(program)] = e.policyControllerFor(program, true, now).revision
	}
	before := e.revisions.AllCurrent()
	changed, release := e.revisions.ReplaceCurrent(next, now)
	for _, op := range before { // what workers have done for it until it was replaced
		if other := next[op.id]; other != nil && other != op.revision {
			other.Value().inheritOwners(op)
			other.Value().incomplete.Store(false)
		}
	}
	e.releaseRevisions(release)
	for _, id := range changed {
		e.enqueueKey(Key{Policy: id})
	}
	return nil
}

// policyControllerFor returns the policy controller that there is, if it is for the same, or else a new
// one that takes over what can be of use to it.
func (e *Controller) policyControllerFor(program *policy.Program, retiring bool, now time.Time) *policyController {
	before := e.revisions.CurrentOf(idOf(program))
	if before != nil && before.retiring == retiring && isSame(before.program, program) {
		return before
	}
	if retiring {
		active := *program
		active.Suspend = false
		program = &active
	}
	op := newPolicyController(e, program)
	op.retiring = retiring
	if e.revisions.HasDropped(op.id) {
		op.startedAt = now.Add(clockSkew)
	}
	if before != nil {
		op.incomplete.Store(true)
		op.revisedAt = now.Add(clockSkew)
		op.succeedRevision(before)
	}
	return op
}

// clockSkew is by how much the API server's clock may be ahead.
const clockSkew = time.Minute

// isSame says whether two programs do the same, of which the first may be one that is
// retired, suspended or not. Of a policy that does not compile the hash covers only what
// could be read.
func isSame(a, b *policy.Program) bool {
	return a.Hash == b.Hash && a.Identity() == b.Identity() &&
		fmt.Sprint(a.CleanupOnly) == fmt.Sprint(b.CleanupOnly) && (a.Protect == nil) == (b.Protect == nil) && a.Owner.SkipStatus == b.Owner.SkipStatus
}

// leaveRevision ends the work on a key. If the policy was changed in between, the new version
// looks at the owner after this.
func (e *Controller) leaveRevision(op *policyController, key Key) {
	var worked workedOwner
	if op.revision.IsReplaced() { // else Set looks at it after this
		worked = op.workedOwnerOf(types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	}
	hasNext, release := e.revisions.LeaveRevision(op.revision, func(next *policyController) {
		if worked.uid != "" {
			next.inheritOwner(op, worked)
		}
	})
	if hasNext {
		e.enqueueKey(key)
	}
	e.releaseRevisions(release)
}

// settleRevision has older versions of a policy released when they are of no use to this one any
// more, and says when to look at that again; 0: not at all.
func (e *Controller) settleRevision(op *policyController) time.Duration {
	if !op.revision.IsSucceeding() {
		return 0
	}
	release, wait := e.revisions.SettleRevision(op.revision, op.isSettled(), e.currentTime())
	e.releaseRevisions(release)
	if wait == 0 {
		op.endSuccession()
	}
	return wait
}

// releaseRevisions gives back what policy controllers needed, and what is asked for their sake.
func (e *Controller) releaseRevisions(gone []*policyController) {
	if len(gone) == 0 {
		return
	}
	for _, op := range gone {
		op.releaseAll()
	}
	var kinds []schema.GroupVersionKind
	for _, op := range gone {
		kinds = append(kinds, op.kinds.NamedKinds()...)
	}
	e.releaseKinds(kinds)
}
