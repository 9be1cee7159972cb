package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// childConflict is what is remembered of the writes of one child's object, so that Ambit and
// another writer do not answer each other without a pause. The zero value: nothing was written.
//
// A write is contested if it wants what the last one wanted, and that one was undone within
// conflictQuick. Whatever takes longer is repaired at once, for ever, and so are the first
// conflictFree contested writes in a row: somebody edits by hand. After these the backoff of
// contests counts, and the owner says who undoes what.
type childConflict struct {
	wanted  string         // plan.Action.Wanted of the last write
	wrote   time.Time      // when that was answered
	undone  time.Time      // when it was first seen not to stand; zero: it stands, as far as is known
	quick   bool           // it was undone within conflictQuick
	making  bool           // the last write has deleted the object, to make it anew
	count   int            // contested writes in a row, the one that is to come included
	backoff statusConflict // of the contested writes after the first
	name    string         // the object, as in `Deployment "web"`
	fields  []string       // that were undone, at most conflictFields, in the order in which they were seen
	told    bool           // who undoes it was logged
	by      string         // who that is, as told; empty if it is not known
}

const (
	// conflictQuick is within what time a write has to be undone to count as contested.
	conflictQuick = 10 * time.Second
	// conflictFree is how many contested writes of a child in a row do not wait.
	conflictFree = 5
	// conflictFields is how many fields a message names.
	conflictFields = 3
)

// recordDifference notes that the object is not as it is to be. follows: what is wanted may itself follow
// from what was written, so that a write that wants something else counts as well.
func (c *childConflict) recordDifference(action plan.Action, follows bool, now time.Time) {
	if c.isOver(now) {
		*c = childConflict{}
	}
	if c.wrote.IsZero() || c.making || !c.undone.IsZero() || c.wanted != action.Wanted && !follows {
		return
	}
	c.undone, c.quick = now, now.Sub(c.wrote) < conflictQuick
	if c.quick {
		c.count++
		c.addFields(action.Fields)
	}
}

// addFields keeps the fields that were undone.
func (c *childConflict) addFields(fields []string) {
	for _, field := range fields {
		if len(c.fields) < conflictFields && !slices.Contains(c.fields, field) {
			c.fields = append(c.fields, field)
		}
	}
}

// isFought reports whether the free writes are used up.
func (c *childConflict) isFought() bool { return c.count > conflictFree }

// waitToWrite is how long the write has to wait; 0: not at all.
func (c *childConflict) waitToWrite(action plan.Action, now time.Time) time.Duration {
	if !c.isFought() || c.making {
		return 0
	}
	return c.backoff.waitToWrite(action.Wanted, now)
}

// recordWrite notes a write that was accepted. wait is Controller.backoffAfter.
func (c *childConflict) recordWrite(action plan.Action, wait func(failures int) time.Duration, now time.Time) {
	if c.isFought() && c.quick {
		c.backoff.recordWrite(action.Wanted, wait, now)
	}
	c.making = action.Verb == plan.Delete
	c.wanted, c.wrote, c.undone, c.quick = action.Wanted, now, time.Time{}, false
}

// isOver reports whether the last write is so long ago that it stands, or that nobody wants it any
// more: that is longer than a contested write ever waits.
func (c *childConflict) isOver(now time.Time) bool { return now.Sub(c.wrote) >= contestOver }

// conflictProblem is what the owner says of a child that is fought over.
func (c *childConflict) conflictProblem() plan.Problem {
	who, what := "another writer", "undoes what is written, at once and again and again: "+strings.Join(c.fields, ", ")
	if c.by != "" {
		who = fmt.Sprintf("field manager %q", c.by)
	}
	if len(c.fields) == 0 {
		what = "deletes it again and again, right after it is made"
	}
	return plan.Problem{Reason: v1alpha1.ReasonContested, Terminal: true, Message: fmt.Sprintf(
		"%s: %s %s; it is written more and more rarely until one of the two stops: let only one of them have it", c.name, who, what)}
}

// isChildHeldBack reports whether a write of a child has to wait because others undo it, and has the
// next plan say so.
func (p *ownerReconciler) isChildHeldBack(ctx context.Context, action plan.Action, objects dynamic.ResourceInterface) bool {
	c := p.state.conflicts[action.ObjectKey()]
	if c == nil || action.Wanted == "" {
		return false
	}
	now := p.controller.now()
	c.recordDifference(action, p.program.FollowsVersions(), now)
	if !c.isFought() {
		return false
	}
	c.name = p.nameOf(action)
	p.reportChildConflict(ctx, c, action, objects)
	wait := c.waitToWrite(action, now)
	if wait == 0 {
		return false
	}
	p.problems[action.Key()] = c.conflictProblem()
	p.requeueAt(now.Add(wait))
	return true
}

// nameOf is as in `Deployment "web"`, with the namespace where it is not the owner's.
func (p *ownerReconciler) nameOf(action plan.Action) string {
	name := fmt.Sprintf("%s %q", action.GVK.Kind, action.Name)
	if action.Namespace != "" && (p.owner == nil || p.owner.GetNamespace() != action.Namespace) {
		name += fmt.Sprintf(" in namespace %q", action.Namespace)
	}
	return name
}

// reportChildConflict says once, in the log and in an Event, who undoes the writes of a child. It asks
// the API server, because the cache keeps only Ambit's own managers. Of an object in another
// namespace than the owner's only the log names who writes it: see claims.Claimant.
func (p *ownerReconciler) reportChildConflict(ctx context.Context, c *childConflict, action plan.Action, objects dynamic.ResourceInterface) {
	if c.told || ctx.Err() != nil {
		return
	}
	c.told = true
	log := actionLog(ctx, action).WithValues("fields", c.fields)
	if action.Verb != plan.Create {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(action.GVK)
		object.SetNamespace(action.Namespace)
		object.SetName(action.Name)
		managers, err := apply.LatestWriters(ctx, objects, object, "", p.manager)
		switch {
		case err != nil:
			log = log.WithValues("unknown", err.Error())
		case len(managers) > 0:
			log = log.WithValues("managers", managers)
			if (claims.Claimant{Owner: p.ownerUID(), Namespace: p.ownerNamespace()}).MaySee(object) {
				c.by = managers[0]
			}
		}
		if slices.Contains(managers[:min(1, len(managers))], p.manager) {
			log = log.WithValues("hint", "it is another process with a policy of this name, admission, or a policy that reads what it writes; who removes fields leaves no trace")
		}
	}
	log.Info("another writer keeps undoing what is written to a child; backing off")
	problem := c.conflictProblem()
	p.makeEvent(problem.Reason, problem.Message)
}

// noteChildWrite notes that a write of a child was accepted. What is deleted for good is no
// matter of conflict any more; nor is what was written so long ago that it stands.
func (p *ownerReconciler) noteChildWrite(action plan.Action) {
	now, key := p.controller.now(), action.ObjectKey()
	maps.DeleteFunc(p.state.conflicts, func(_ inventory.ObjectKey, c *childConflict) bool { return !c.told && c.isOver(now) })
	if action.Wanted == "" {
		delete(p.state.conflicts, key)
		return
	}
	if p.state.conflicts == nil {
		p.state.conflicts = map[inventory.ObjectKey]*childConflict{}
	}
	if p.state.conflicts[key] == nil {
		p.state.conflicts[key] = &childConflict{}
	}
	p.state.conflicts[key].recordWrite(action, p.controller.backoffAfter, now)
}

// forgetGoneKinds drops what is remembered of children whose kind is not served: they went with
// it, and nobody has undone anything.
func (p *ownerReconciler) forgetGoneKinds(children map[plan.Location]plan.Input) {
	if len(p.state.conflicts) == 0 {
		return
	}
	gone := map[schema.GroupKind]bool{}
	for at, in := range children {
		if child := policy.FindChild(p.program.Children, at.Child); child != nil && in.Blocked != nil && in.Blocked.Reason == v1alpha1.ReasonKindMissing {
			gone[child.GVK.GroupKind()] = true
		}
	}
	maps.DeleteFunc(p.state.conflicts, func(key inventory.ObjectKey, _ *childConflict) bool { return gone[key.Kind] })
}

// conflictProblems are those of children, and of the owner's metadata, that are fought over: they
// hold between two writes as well.
func (p *ownerReconciler) conflictProblems() []plan.Problem {
	now := p.controller.now()
	var list []plan.Problem
	for _, c := range p.state.conflicts {
		if c.told && !c.isOver(now) {
			list = append(list, c.conflictProblem())
		}
	}
	if c := &p.state.marks; c.backoff.told && !c.backoff.isOver(now) {
		list = append(list, c.problem())
	}
	slices.SortFunc(list, func(a, b plan.Problem) int { return strings.Compare(a.Message, b.Message) })
	return list
}

// endConflicts logs which conflicts are over, and has the owner looked at again when the others
// may be.
func (p *ownerReconciler) endConflicts(ctx context.Context) {
	p.endMarkContest(ctx)
	now := p.controller.now()
	maps.DeleteFunc(p.state.conflicts, func(_ inventory.ObjectKey, c *childConflict) bool {
		switch {
		case !c.told:
			return false
		case c.isOver(now):
			ctrllog.FromContext(ctx).Info("nobody undoes what is written to a child any more", "child", c.name)
			return true
		}
		p.requeueAt(c.wrote.Add(contestOver))
		return false
	})
}
