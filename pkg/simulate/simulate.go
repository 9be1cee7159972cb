// Package simulate says what a policy comes to for an owner, where the objects of files are
// all that there is in the cluster: what `ambit render` prints and `ambit test` compares.
//
// It is a reconcile without requests. Files leave out much that an API server and an earlier
// reconcile would have written, such as uids and ownerReferences: that is completed first.
// Then plans are made as the controller makes them, of package plan: the queries of a plan
// are answered from the objects, what it says of the owner's metadata is taken as written,
// and it is made again, until that brings nothing new. Children are not written: the plan is
// the one with which the first write would begin.
//
// The package knows neither files nor flags. The same input gives the same result.
package simulate

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Input is what a reconcile is simulated with. Nothing in it is changed.
type Input struct {
	Program *policy.Program
	// Owner may lack what an API server adds.
	Owner *unstructured.Unstructured
	// Observed is all that there is beside the owner. An object of the kind of a child with
	// neither uid nor ownerReferences counts as made for the owner.
	Observed []*unstructured.Unstructured
	// IsNamespaced reports whether objects of a kind live in namespaces.
	IsNamespaced func(schema.GroupVersionKind) bool
	// Now is the time of which expressions ask; zero: it is not known.
	Now time.Time
}

// Result is what came of a simulated reconcile.
type Result struct {
	// LeftAlone says why the policy does nothing for the owner; "" if it does. The plan is
	// empty then.
	LeftAlone string
	// Plan is for the children of the owner.
	Plan *plan.Plan
	// OwnerMetadata is what is written to the owner before; nil for nothing.
	OwnerMetadata *plan.OwnerMetadata
	// Ensured is the plan for the objects of the policy itself; nil if it has none.
	Ensured *plan.Plan

	program *policy.Program
	before  *unstructured.Unstructured // the owner without OwnerMetadata
	owner   *unstructured.Unstructured // and with it
}

// PlaceholderUID is the uid of an owner that has none. placeholderClaim is the claim of an
// owner without a record.
const (
	PlaceholderUID   = "00000000-0000-0000-0000-000000000000"
	placeholderClaim = "00000000000000000000000000000000"
)

// maxRounds is how often a plan is made at most. Each round but the last comes to know of a
// place or writes to the owner, in the order of the children.
const maxRounds = 100

// Reconcile simulates a reconcile of the owner up to the first write of a child.
func Reconcile(ctx context.Context, in Input) Result {
	c := newCluster(in)
	r := Result{program: in.Program, before: c.owner, owner: c.owner, Plan: &plan.Plan{}}
	why, retire := c.whyLeftAlone(ctx)
	if why != "" && !retire {
		r.LeftAlone = why
		return r
	}
	r.planChildren(ctx, c, retire)
	if retire && len(r.Plan.Actions) == 0 && r.OwnerMetadata == nil {
		r.LeftAlone, r.Plan = why, &plan.Plan{}
		return r
	}
	r.planEnsured(ctx, c)
	return r
}

// planChildren makes the plan for the owner's children.
func (r *Result) planChildren(ctx context.Context, c *cluster, retire bool) {
	snapshot := plan.Snapshot{Now: c.now, Owner: c.owner, Namespaced: c.namespacedKinds(), Retire: retire, Claim: placeholderClaim, Unmanaged: true}
	c.addObservations(ctx, &snapshot)
	for range maxRounds {
		r.Plan = plan.Make(ctx, r.program, snapshot)
		isNew := c.answerQueries(r.Plan.Queries, snapshot.Children)
		if metadata := r.Plan.OwnerMetadata; metadata != nil && (r.OwnerMetadata == nil || *r.OwnerMetadata != *metadata) {
			r.OwnerMetadata, isNew = metadata, true
			r.owner = withMetadata(r.owner, *metadata)
			snapshot.Owner = r.owner
		}
		if !isNew {
			return
		}
	}
}

// planEnsured makes the plan for the objects of the policy itself.
func (r *Result) planEnsured(ctx context.Context, c *cluster) {
	if len(r.program.Ensured) == 0 {
		return
	}
	snapshot := plan.Snapshot{Namespaced: c.namespacedKinds(), Claim: placeholderClaim, Unmanaged: true}
	c.addObservations(ctx, &snapshot)
	for range maxRounds {
		r.Ensured = plan.Ensure(ctx, r.program, snapshot)
		if !c.answerQueries(r.Ensured.Queries, snapshot.Children) {
			return
		}
	}
}

// DesiredObjects returns the objects that are wanted and can be rendered, with the text forms of made values, those of the policy
// itself first, in the order of the program.
func (r Result) DesiredObjects() []*unstructured.Unstructured {
	var states []plan.ChildState
	if r.Ensured != nil {
		states = append(states, r.Ensured.Children...)
	}
	var objects []*unstructured.Unstructured
	for _, child := range append(states, r.Plan.Children...) {
		if child.Desired != nil {
			objects = append(objects, child.Make.ShowTextForms(child.Desired))
		}
	}
	return objects
}

// Owner returns the owner's identity with its new status.
func (r Result) Owner() *unstructured.Unstructured {
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(r.owner.GroupVersionKind())
	owner.SetName(r.owner.GetName())
	owner.SetNamespace(r.owner.GetNamespace())
	owner.Object["status"] = r.OwnerStatus()
	return owner
}

// OwnerStatus returns the owner's new status, without the times in the conditions.
func (r Result) OwnerStatus() map[string]any {
	next := status.NextStatus(r.owner, r.program, r.Plan, time.Time{})
	conditions, _ := next["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			delete(condition, "lastTransitionTime")
		}
	}
	return next
}

// withMetadata returns the owner with what the metadata says.
func withMetadata(owner *unstructured.Unstructured, metadata plan.OwnerMetadata) *unstructured.Unstructured {
	owner = owner.DeepCopy()
	finalizers := slices.DeleteFunc(owner.GetFinalizers(), func(f string) bool { return f == v1alpha1.FinalizerCleanup })
	if metadata.Finalizer {
		finalizers = append(finalizers, v1alpha1.FinalizerCleanup)
	}
	owner.SetFinalizers(finalizers)
	setAnnotation(owner, v1alpha1.AnnotationChildren, metadata.Children)
	return owner
}

// setAnnotation sets an annotation; "" takes it away.
func setAnnotation(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	object.SetAnnotations(annotations)
}
