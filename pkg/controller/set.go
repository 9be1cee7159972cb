package controller

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// Set makes the engine run these policies, and retire those, instead of what it ran
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
// engine's from then on.
func (e *Controller) Set(programs, retire []*policy.Program) error {
	if err := errors.Join(policy.CheckConflicts(programs), policy.CheckRemoval(programs, retire)); err != nil {
		return err
	}
	e.setting.Lock()
	defer e.setting.Unlock()
	now := e.now()
	next := make(map[string]*operator, len(programs)+len(retire))
	for _, program := range programs {
		next[idOf(program)] = e.version(program, false, now)
	}
	for _, program := range retire {
		next[idOf(program)] = e.version(program, true, now)
	}
	before := e.versions.all()
	changed, release := e.versions.replace(next, now.Add(keepOlder))
	for _, op := range before { // what workers have done for it until it was replaced
		if other := next[op.id]; other != nil && other != op {
			other.inheritAll(op)
			other.incomplete.Store(false)
		}
	}
	e.release(release)
	for _, id := range changed {
		e.enqueue(Key{Policy: id})
	}
	return nil
}

// version returns the operator that there is, if it is for the same, or else a new one that
// takes over what can be of use to it.
func (e *Controller) version(program *policy.Program, retiring bool, now time.Time) *operator {
	before := e.versions.get(idOf(program))
	if before != nil && before.retiring == retiring && isSame(before.program, program) {
		return before
	}
	if retiring {
		active := *program
		active.Suspend = false
		program = &active
	}
	op := newOperator(e, program)
	op.retiring = retiring
	if e.versions.hasDropped(before) {
		op.began = now.Add(clockSkew)
	}
	if before != nil {
		op.incomplete.Store(true)
		op.followed = now.Add(clockSkew)
		op.succeed(before)
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

// leave ends the work on a key. If the policy was changed in between, the new version
// looks at the owner after this.
func (e *Controller) leave(op *operator, key Key) {
	var worked legacy
	if op.replaced.Load() { // else Set looks at it after this
		worked = op.legacy(types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	}
	replaced, release := e.versions.leave(op, worked)
	if replaced {
		e.enqueue(key)
	}
	e.release(release)
}

// settle has older versions of a policy released when they are of no use to this one any
// more, and says when to look at that again; 0: not at all.
func (e *Controller) settle(op *operator) time.Duration {
	if !op.succeeding.Load() {
		return 0
	}
	release, wait := e.versions.settle(op, op.isSettled(), e.now())
	e.release(release)
	if wait == 0 {
		op.settle()
	}
	return wait
}

// release gives back what operators needed, and what is asked for their sake.
func (e *Controller) release(gone []*operator) {
	if len(gone) == 0 {
		return
	}
	for _, op := range gone {
		op.release()
	}
	var kinds []schema.GroupVersionKind
	for _, op := range gone {
		kinds = append(kinds, op.kinds()...)
	}
	e.releaseKinds(kinds)
}
