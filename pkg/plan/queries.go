package plan

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/desired"
	"github.com/ambit-dev/ambit/pkg/plan/readiness"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Query is a place to observe.
type Query struct {
	Location
	GVK schema.GroupVersionKind
	// Names are the only objects to look at, by name: they carry no label of ours.
	// Sorted, without duplicates. Nil: all with the labels of policy and owner.
	Names []string
}

// QuerySet is what has to be observed before a first plan.
type QuerySet struct {
	// Children are the places that the objects of a child are in for sure, in the program's
	// order. A child whose kind is not known is at Location{Child: id}.
	Children []Query
	// Watches are those of the policy, in its order; nil where no plan reads them.
	Watches []WatchQuery
}

// WatchQuery is what a watch of a policy means for one owner.
type WatchQuery struct {
	*policy.Watch
	// Target is where the objects are; nil if that cannot be said.
	Target *bindings.WatchTarget
	// Labels select what the watch shows; nil with a Problem. The filter of the watch is not in it:
	// plans apply both.
	Labels labels.Selector
	// IndexLabel and IndexValue are a label that all of these objects have, if the owner decides
	// its value; empty if there is none.
	IndexLabel, IndexValue string
	// Problem says why the watch cannot be observed; nil if it can.
	Problem *Problem
}

// Queries says what has to be observed for a plan of an owner, or, if Owner is nil, of what the
// policy ensures. Whoever makes snapshots, of a cluster or of files, begins with these places,
// and goes on with those of each plan: Plan.Queries. Of the snapshot it reads Owner, Retire and
// Namespaced, which has to say it of the kinds of watches as well. It is pure.
func Queries(ctx context.Context, program *policy.Program, s Snapshot) QuerySet {
	children, namespace := program.Ensured, program.Namespace
	if s.Owner != nil {
		children, namespace = program.Children, s.Owner.GetNamespace()
	}
	set := QuerySet{Children: make([]Query, 0, len(children))}
	for _, c := range children {
		if home, ok := homeLocationOf(c, namespace, s.Namespaced); ok {
			set.Children = append(set.Children, Query{Location: home, GVK: c.GVK})
		}
	}
	if s.Owner == nil || s.Retire || len(program.Watches) == 0 {
		return set
	}
	ctx = meter.WithBudget(ctx, meter.NewBudget(0, 0))
	vars := bindings.BindOwner(ctx, program, s.Owner, nil).Vars
	for _, w := range program.Watches {
		set.Watches = append(set.Watches, queryWatch(ctx, w, vars, s))
	}
	return set
}

// homeLocationOf returns the place in which all objects of a child are; false if that is not known
// before they are rendered. namespace is that of the owner.
func homeLocationOf(c *policy.Child, namespace string, kinds map[schema.GroupVersionKind]bool) (Location, bool) {
	namespaced, known := kinds[c.GVK]
	switch {
	case !known:
		return Location{Child: c.ID}, true
	case c.Existing == v1alpha1.ExistingMerge, namespaced && (namespace == "" || c.CrossNamespace):
		return Location{}, false
	case namespaced:
		return Location{Child: c.ID, Namespace: namespace}, true
	}
	return Location{Child: c.ID}, true
}

// queryWatch says what a watch means for the owner of a snapshot; vars is what expressions see.
func queryWatch(ctx context.Context, w *policy.Watch, vars cel.Activation, s Snapshot) WatchQuery {
	query := WatchQuery{Watch: w}
	namespaced, known := s.Namespaced[w.GVK]
	if !known {
		query.Problem = lookingUp(w.GVK)
		return query
	}
	target, problem := bindings.ResolveWatch(ctx, w, vars, s.Owner.GetNamespace(), namespaced)
	if problem != nil {
		query.Problem = problem
		return query
	}
	query.Target = &target
	selector, err := w.Selector.ForOwner(ctx, vars)
	if err != nil {
		query.Problem = bindings.WatchProblem(w, "selector", err)
		return query
	}
	query.Labels = selector
	if w.Selector.OwnerSpecific() {
		if key, value, err := w.Selector.IndexLabel(ctx, vars); err == nil {
			query.IndexLabel, query.IndexValue = key, value
		}
	}
	return query
}

// lookingUp is the problem of a kind of which it is not known whether its objects have namespaces.
func lookingUp(gvk schema.GroupVersionKind) *Problem {
	return &Problem{Reason: v1alpha1.ReasonSyncing, Message: fmt.Sprintf("looking up kind %s in %s", gvk.Kind, gvk.GroupVersion())}
}

// ObservedFields returns the fields of the live objects of a child that plans depend on: what the
// template sets and expressions read, what is compared beside, and what says whether the objects are
// ready. The managedFields of the policy's manager, and of the MergeManager for objects that are merged,
// are needed as well. The caller owns the result.
func ObservedFields(c *policy.Child) *fields.Set {
	observed := EnsuredFields(c)
	if readsStatus(c) {
		observed = observed.Union(readiness.Fields(c.GVK.GroupKind()))
	}
	return observed
}

// EnsuredFields is ObservedFields for an object of the policy itself: whether it is ready is asked by
// nobody. The caller owns the result.
func EnsuredFields(c *policy.Child) *fields.Set {
	if len(c.Make) > 0 { // of its data only what its template sets, and what is public
		return RecordedFields(schema.GroupVersionKind{}).Union(c.Fields)
	}
	return RecordedFields(c.GVK).Union(c.Fields)
}

// RecordedFields are those of ObservedFields that are needed of the objects of a kind that only
// records name. The caller owns the result.
func RecordedFields(kind schema.GroupVersionKind) *fields.Set {
	kept := leftoverFields()
	for _, annotation := range []string{v1alpha1.AnnotationFields, v1alpha1.AnnotationGeneration} {
		kept.Add("metadata", "annotations", annotation)
	}
	if desired.IsSecret(kind) {
		kept.Add("data")
	}
	return kept
}

// readsStatus reports whether the status of a child's objects says whether they are ready: the
// policy does not, and they are not somebody else's.
func readsStatus(c *policy.Child) bool {
	return len(c.ReadyWhen) == 0 && c.Existing != v1alpha1.ExistingMerge
}

// leftoverFields are those of ObservedFields that are needed of objects that no child of
// the program has any more. The caller owns the result.
func leftoverFields() *fields.Set {
	kept := fields.New("metadata.ownerReferences", "metadata.creationTimestamp")
	for _, annotation := range []string{v1alpha1.AnnotationClaim, v1alpha1.AnnotationChild, v1alpha1.AnnotationEnsuredBy} {
		kept.Add("metadata", "annotations", annotation)
	}
	return kept
}
