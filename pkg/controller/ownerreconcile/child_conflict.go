package ownerreconcile

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// isChildHeldBack reports whether a write of a child has to wait because others undo it, and has the
// next plan say so.
func (w childWriter) isChildHeldBack(ctx context.Context, action plan.Action, objects dynamic.ResourceInterface) bool {
	c := w.state.conflicts.ChildOf(action)
	if c == nil || action.Wanted == "" {
		return false
	}
	now := w.Now()
	c.RecordDifference(action, w.Program.FollowsVersions(), now)
	if !c.IsFought() {
		return false
	}
	c.Name = w.nameOf(action)
	w.reportChildConflict(ctx, c, action, objects)
	wait := c.WaitToWrite(action, now)
	if wait == 0 {
		return false
	}
	w.problems[action.Key()] = c.ConflictProblem()
	w.requeueAt(now.Add(wait))
	return true
}

// reportChildConflict says once, in the log and in an Event, who undoes the writes of a child. It asks
// the API server, because the cache keeps only Ambit's own managers. Of an object in another
// namespace than the owner's only the log names who writes it: see claims.Claimant.
func (w childWriter) reportChildConflict(ctx context.Context, c *writeconflict.Child, action plan.Action, objects dynamic.ResourceInterface) {
	if c.IsReported() || ctx.Err() != nil {
		return
	}
	c.MarkReported()
	log := actionLog(ctx, action).WithValues("fields", c.UndoneFields())
	if action.Verb != plan.Create {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(action.GVK)
		object.SetNamespace(action.Namespace)
		object.SetName(action.Name)
		managers, err := apply.LatestWriters(ctx, objects, object, "", w.Manager)
		switch {
		case err != nil:
			log = log.WithValues("unknown", err.Error())
		case len(managers) > 0:
			log = log.WithValues("managers", managers)
			if (claims.Claimant{Owner: w.ownerUID(), Namespace: w.ownerNamespace()}).MaySee(object) {
				c.Writer = managers[0]
			}
		}
		if slices.Contains(managers[:min(1, len(managers))], w.Manager) {
			log = log.WithValues("hint", "it is another process with a policy of this name, admission, or a policy that reads what it writes; who removes fields leaves no trace")
		}
	}
	log.Info("another writer keeps undoing what is written to a child; backing off")
	problem := c.ConflictProblem()
	w.makeEvent(problem.Reason, problem.Message)
}

// forgetGoneKinds drops what is remembered of children whose kind is not served: they went with
// it, and nobody has undone anything.
func (r snapshotReader) forgetGoneKinds(children map[plan.Location]plan.Input) {
	if r.state.conflicts.IsEmpty() {
		return
	}
	gone := map[schema.GroupKind]bool{}
	for at, in := range children {
		if child := policy.FindChild(r.Program.Children, at.Child); child != nil && in.Blocked != nil && in.Blocked.Reason == v1alpha1.ReasonKindMissing {
			gone[child.GVK.GroupKind()] = true
		}
	}
	r.state.conflicts.ForgetKinds(func(kind schema.GroupKind) bool { return gone[kind] })
}

// conflictProblems are those of children, and of the owner's metadata, that are fought over: they
// hold between two writes as well.
func (r snapshotReader) conflictProblems() []plan.Problem {
	now := r.Now()
	list := r.state.conflicts.StandingProblems(now)
	if c := r.state.metadata; c != nil && c.IsStanding(now) {
		list = append(list, c.ConflictProblem())
	}
	slices.SortFunc(list, func(a, b plan.Problem) int { return strings.Compare(a.Message, b.Message) })
	return list
}

// endConflicts logs which conflicts are over, and has the owner looked at again when the others
// may be.
func (p *Reconciler) endConflicts(ctx context.Context) {
	ownerWriter{p}.endMetadataConflict(ctx)
	ended, at := p.state.conflicts.EndIfOver(p.Now())
	for _, name := range ended {
		ctrllog.FromContext(ctx).Info("nobody undoes what is written to a child any more", "child", name)
	}
	p.requeueAt(at)
}
