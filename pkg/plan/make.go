package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Make plans for one owner. It never fails: what fails is in the plan. ctx only
// bounds the evaluation of expressions; all of one plan share a sandbox.Budget. Neither
// the program nor the snapshot is changed; Make is safe for concurrent use.
//
// A suspended policy gives an empty plan: nothing is to be written, not even a
// status. So does an owner that is being deleted and does not have our finalizer,
// but for Done. As long as there is the record of another policy on the owner, nothing
// is done but to say so.
func Make(ctx context.Context, program *policy.Program, s Snapshot) *Plan {
	ctx = sandbox.WithBudget(ctx, sandbox.NewBudget(0, 0))
	p := newPlanner(ctx, program, s)
	plan := p.makePlan(ctx)
	plan.Former = p.former
	return plan
}

func (p *planner) makePlan(ctx context.Context) *Plan {
	switch deleting := isDeleting(p.snapshot.Owner); {
	case p.program.Suspend:
		return &Plan{}
	case deleting && !p.inventory.HasFinalizer:
		return &Plan{Done: true}
	case deleting || p.snapshot.Retire:
		return (&pruner{planner: p}).cleanUp(ctx)
	case p.program.CleanupOnly != nil:
		return &Plan{}
	case p.inventory.OtherPolicy != "":
		return (&reporter{planner: p}).yieldTo(ctx, p.inventory.OtherPolicy)
	}
	p.resolveAll(ctx)
	(&pruner{planner: p}).prune()
	(&inventoryPlanner{planner: p}).planOwnerMetadata()
	p.collectActions()
	r := &reporter{planner: p}
	r.gather()
	r.forgetBlocked()
	return r.report(ctx)
}

func newPlanner(ctx context.Context, program *policy.Program, s Snapshot) *planner {
	return &planner{
		subject: subject{
			program: program, specs: program.Children, part: "children", snapshot: s, owner: s.Owner.GetUID(),
			namespace: s.Owner.GetNamespace(), inventory: inventoryUpdate{Stored: inventory.Read(program, s.Owner)},
		},
		scope: bind(ctx, program, s.Owner), former: s.Former,
	}
}

// resolveAll reads the watches and resolves all children.
func (p *planner) resolveAll(ctx context.Context) {
	p.scope.vars["access"] = accessOf(p.denied())
	p.readWatches(ctx)
	p.resolveChildren(ctx)
}

// Fields returns the fields of the live objects of a child, or of an ensured
// object, that the planner reads, for projection: what the program reads of them
// and what is compared beside. The managedFields of the policy's manager, and of
// the MergeManager for objects that are merged, are needed as well. The caller owns
// the result.
func Fields(c *policy.Child) *fields.Set {
	kept := c.Fields.Union(nil).Union(LeftoverFields())
	for _, annotation := range []string{v1alpha1.AnnotationFields, v1alpha1.AnnotationGeneration} {
		kept.Add("metadata", "annotations", annotation)
	}
	if isSecret(c.GVK) {
		kept.Add("data")
	}
	return kept
}

// LeftoverFields are those of Fields that are needed of objects that no child of
// the program has any more. The caller owns the result.
func LeftoverFields() *fields.Set {
	kept := fields.New("metadata.ownerReferences", "metadata.creationTimestamp")
	for _, annotation := range []string{v1alpha1.AnnotationClaim, v1alpha1.AnnotationChild, v1alpha1.AnnotationEnsuredBy} {
		kept.Add("metadata", "annotations", annotation)
	}
	return kept
}

// planner holds what is known while one plan is made.
type planner struct {
	subject
	scope scope
	// watchProblems says why a watch has nothing to show, by its index in the program.
	watchProblems []*Problem
	children      []child
	names         names
	indexes       indexes
	size          size
	// ready is what ready(...) reads, by child id.
	ready   map[string]bool
	actions []Action
	// deletions are what the pruner removes.
	deletions []Action
	// ranks are by child id, made when they are first needed.
	ranks map[string]int
	// retired says why nothing of the owner is wanted any more; empty if it is.
	retired string
	// suspended says why pruning is; empty if it is not.
	suspended     suspension
	blockers      blockers
	queries       []Query
	ownerMetadata *OwnerMetadata
	// former is Plan.Former.
	former []schema.GroupVersionKind
}

func isDeleting(obj *unstructured.Unstructured) bool {
	return field(obj.Object, "metadata", "deletionTimestamp") != nil
}

// inputOf returns the candidates of a watch or a place; one that is not in the
// snapshot is not observed yet.
func inputOf[K comparable](inputs map[K]Input, key K, id string) Input {
	if in, ok := inputs[key]; ok {
		return in
	}
	return Input{Blocked: &Problem{Reason: v1alpha1.ReasonSyncing, Message: "waiting for the first list of " + id}}
}
