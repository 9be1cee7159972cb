package cli

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// watches returns what each watch would be shown by an API server; the planner
// applies selector and filter.
func (s *scene) watches(ctx context.Context) map[string]plan.Input {
	bound := plan.Bind(ctx, s.program, s.owner)
	inputs := map[string]plan.Input{}
	for _, w := range s.program.Watches {
		inputs[w.ID] = s.watch(ctx, w, bound)
	}
	return inputs
}

// watch returns the objects of one watch. A place that cannot be told is a problem.
func (s *scene) watch(ctx context.Context, w *policy.Watch, bound cel.Activation) plan.Input {
	target, problem := plan.ResolveWatch(ctx, w, bound, s.owner.GetNamespace(), s.kinds.isNamespaced(w.GVK))
	if problem != nil {
		return plan.Input{Blocked: problem}
	}
	var in plan.Input
	for _, object := range s.byKind[w.GVK] {
		isThere := target.Namespace == "" || object.GetNamespace() == target.Namespace
		if isThere && (target.FieldSelector == nil || target.FieldSelector.Matches(fieldsOf{object})) {
			in.Objects = append(in.Objects, object)
		}
	}
	return in
}

// fieldsOf finds the fields of a field selector where they stand in an object. An
// API server knows a few of each kind only.
type fieldsOf struct{ object *unstructured.Unstructured }

var _ fields.Fields = fieldsOf{}

// Has implements fields.Fields.
func (f fieldsOf) Has(path string) bool { return f.Get(path) != "" }

// Get implements fields.Fields.
func (f fieldsOf) Get(path string) string {
	value, found, err := unstructured.NestedFieldNoCopy(f.object.Object, strings.Split(path, ".")...)
	if err != nil || !found {
		return ""
	}
	return fmt.Sprint(value)
}
