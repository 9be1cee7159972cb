package cli

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
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
	name, err := text(ctx, w.Name, bound)
	if err != nil {
		return unknownPlace(w, "name", err)
	}
	namespace, err := text(ctx, w.Namespace, bound)
	if err != nil {
		return unknownPlace(w, "namespace", err)
	}
	selected, err := text(ctx, w.FieldTemplate, bound)
	if err != nil {
		return unknownPlace(w, "fieldSelector", err)
	}
	selector, err := fields.ParseSelector(selected)
	if err != nil {
		return unknownPlace(w, "fieldSelector", err)
	}
	if w.Namespace == nil && !w.AllNamespaces {
		namespace = s.owner.GetNamespace()
	}
	everywhere := w.AllNamespaces || namespace == "" || !s.kinds.isNamespaced(w.GVK)
	var in plan.Input
	for _, object := range s.byKind[w.GVK] {
		if (everywhere || object.GetNamespace() == namespace) && (w.Name == nil || object.GetName() == name) && selector.Matches(fieldsOf{object}) {
			in.Objects = append(in.Objects, object)
		}
	}
	return in
}

func unknownPlace(w *policy.Watch, what string, err error) plan.Input {
	return plan.Input{Blocked: &plan.Problem{
		Reason: v1alpha1.ReasonExpressionFailed, Terminal: true,
		Message: fmt.Sprintf("watches.%s.%s: %v", w.ID, what, err),
	}}
}

// text renders a template that must give a string; nil gives "".
func text(ctx context.Context, t *cel.Template, bound cel.Activation) (string, error) {
	if t == nil {
		return "", nil
	}
	value, err := t.Render(ctx, bound)
	if err != nil {
		return "", err
	}
	s, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("must be a string, is %T", value)
	}
	return s, nil
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
