package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// cluster is what there is: the owner and the observed objects, made complete.
type cluster struct {
	program      *policy.Program
	owner        *unstructured.Unstructured
	byKind       map[schema.GroupVersionKind][]*unstructured.Unstructured
	isNamespaced func(schema.GroupVersionKind) bool
}

// newCluster completes what the input leaves out.
func newCluster(in Input) *cluster {
	c := &cluster{program: in.Program, byKind: map[schema.GroupVersionKind][]*unstructured.Unstructured{}, isNamespaced: in.IsNamespaced}
	record := newRecord(in.Program, completeOwner(in.Owner))
	for number, object := range in.Observed {
		object = object.DeepCopy()
		gvk := object.GroupVersionKind()
		switch {
		case !in.IsNamespaced(gvk):
			object.SetNamespace("")
		case object.GetNamespace() == "":
			object.SetNamespace(in.Owner.GetNamespace())
		}
		record.complete(object, number)
		c.byKind[gvk] = append(c.byKind[gvk], object)
	}
	c.owner = record.write()
	return c
}

// completeOwner returns the owner with a uid and a generation, as an API server has it.
func completeOwner(owner *unstructured.Unstructured) *unstructured.Unstructured {
	owner = owner.DeepCopy()
	if owner.GetUID() == "" {
		owner.SetUID(PlaceholderUID)
	}
	if owner.GetGeneration() == 0 {
		owner.SetGeneration(1)
	}
	return owner
}

// namespacedKinds says of the kinds of children whether they have namespaces.
func (c *cluster) namespacedKinds() map[schema.GroupVersionKind]bool {
	found := map[schema.GroupVersionKind]bool{}
	for _, child := range slices.Concat(c.program.Children, c.program.Ensured) {
		found[child.GVK] = c.isNamespaced(child.GVK)
	}
	return found
}

// answerQueries adds to children what there is in the places of the queries, and reports
// whether that is new. Names in a place may have come to a query that was answered before.
func (c *cluster) answerQueries(queries []plan.Query, children map[plan.Location]plan.Input) (isNew bool) {
	for _, query := range queries {
		before, isKnown := children[query.Location]
		if isKnown && query.Names == nil {
			continue
		}
		found := c.answerQuery(query)
		isNew = isNew || !isKnown || len(found.Objects) != len(before.Objects)
		children[query.Location] = found
	}
	return isNew
}

// answerQuery returns what is observed in a place: the named objects, or all of the kind.
// The planner finds those that are the owner's.
func (c *cluster) answerQuery(query plan.Query) plan.Input {
	var in plan.Input
	for _, object := range c.byKind[query.GVK] {
		isWanted := query.Names == nil || slices.Contains(query.Names, object.GetName())
		if isWanted && object.GetNamespace() == query.Namespace {
			in.Objects = append(in.Objects, object)
		}
	}
	return in
}

// answerWatches returns what each watch would be shown by an API server; the planner
// applies selector and filter.
func (c *cluster) answerWatches(ctx context.Context) map[string]plan.Input {
	bound := plan.Bind(ctx, c.program, c.owner)
	inputs := map[string]plan.Input{}
	for _, w := range c.program.Watches {
		inputs[w.ID] = c.answerWatch(ctx, w, bound)
	}
	return inputs
}

// answerWatch returns the objects of one watch. A place that cannot be told is a problem.
func (c *cluster) answerWatch(ctx context.Context, w *policy.Watch, bound cel.Activation) plan.Input {
	target, problem := plan.ResolveWatch(ctx, w, bound, c.owner.GetNamespace(), c.isNamespaced(w.GVK))
	if problem != nil {
		return plan.Input{Blocked: problem}
	}
	var in plan.Input
	for _, object := range c.byKind[w.GVK] {
		isThere := target.Namespace == "" || object.GetNamespace() == target.Namespace
		if isThere && (target.FieldSelector == nil || target.FieldSelector.Matches(objectFields{object})) {
			in.Objects = append(in.Objects, object)
		}
	}
	return in
}

// objectFields finds the fields of a field selector where they stand in an object. An
// API server knows a few of each kind only.
type objectFields struct{ object *unstructured.Unstructured }

var _ fields.Fields = objectFields{}

// Has implements fields.Fields.
func (f objectFields) Has(path string) bool { return f.Get(path) != "" }

// Get implements fields.Fields.
func (f objectFields) Get(path string) string {
	value, found, err := unstructured.NestedFieldNoCopy(f.object.Object, strings.Split(path, ".")...)
	if err != nil || !found {
		return ""
	}
	return fmt.Sprint(value)
}
