package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Make plans for one owner. It never fails: what fails is in the plan. ctx only
// bounds the evaluation of expressions. Neither the program nor the snapshot is
// changed; Make is safe for concurrent use.
//
// An owner that is being deleted, and a suspended policy, give an empty plan:
// nothing is to be written, not even a status.
func Make(ctx context.Context, program *policy.Program, s Snapshot) *Plan {
	if program.Suspend || isDeleting(s.Owner) {
		return &Plan{}
	}
	p := &planner{program: program, snapshot: s, scope: bind(ctx, program, s.Owner)}
	p.scope.vars["access"] = accessOf(p.denied())
	p.readWatches(ctx)
	p.decideChildren(ctx)
	p.prune()
	p.gather()
	p.forgetBlocked()
	return p.report(ctx)
}

// Bind returns what expressions see of an owner itself: owner, policy, and the
// variables. A variable that fails is left out. For selectors and filters, before
// there is a snapshot.
func Bind(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) cel.Activation {
	return bind(ctx, program, owner).vars
}

// Fields returns the fields of a child's live objects that the planner reads, for
// projection: what the program reads of them and what Make compares beside. The
// manager's managedFields are needed as well. The caller owns the result.
func Fields(c *policy.Child) *fields.Set {
	kept := c.Fields.Union(nil).Add("metadata", "annotations", AnnotationFields)
	if isSecret(c.GVK) {
		kept.Add("data")
	}
	return kept
}

// planner holds what is known while one plan is made.
type planner struct {
	program  *policy.Program
	snapshot Snapshot
	scope    scope
	// watchProblems says why a watch has nothing to show, by its index in the program.
	watchProblems []*Problem
	children      []child
	actions       []Action
	deletions     []Action
	blockers      blockers
	// unseen says why a child or watch, by id, cannot be seen: its input is blocked.
	unseen map[string]*Problem
}

func isDeleting(obj *unstructured.Unstructured) bool {
	return field(obj.Object, "metadata", "deletionTimestamp") != nil
}

// inputOf returns the candidates of a child or watch; one that is not in the
// snapshot is not observed yet.
func inputOf(inputs map[string]Input, id string) Input {
	if in, ok := inputs[id]; ok {
		return in
	}
	return Input{Blocked: &Problem{Reason: v1alpha1.ReasonSyncing, Message: "waiting for the first list of " + id}}
}
