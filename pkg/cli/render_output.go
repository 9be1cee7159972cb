package cli

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// rendering is one pass: what was seen and what came of it.
type rendering struct {
	program  *policy.Program
	snapshot plan.Snapshot
	plan     *plan.Plan
}

// print writes the rendering in the format that was asked for.
func (o *renderOptions) print(r rendering) error {
	if o.Output == "plan" {
		_, err := fmt.Fprint(o.Out, r.plan.String())
		return err
	}
	objects := append(r.children(), r.owner())
	if o.Output == "json" {
		return printData(o.Out, "json", list(objects))
	}
	for i, object := range objects {
		if i > 0 {
			fmt.Fprintln(o.Out, "---")
		}
		if err := printData(o.Out, "yaml", object.Object); err != nil {
			return err
		}
	}
	return nil
}

// list is a v1 List, as kubectl prints several objects.
func list(objects []*unstructured.Unstructured) map[string]any {
	items := make([]any, 0, len(objects))
	for _, object := range objects {
		items = append(items, object.Object)
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// children returns the desired object of each child that is wanted and can be
// rendered, in the order of the program.
func (r rendering) children() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, child := range r.plan.Children {
		if child.Desired != nil {
			objects = append(objects, child.Desired)
		}
	}
	return objects
}

// owner returns the owner's identity with its new status, without the times in
// the conditions.
func (r rendering) owner() *unstructured.Unstructured {
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(r.snapshot.Owner.GroupVersionKind())
	owner.SetName(r.snapshot.Owner.GetName())
	owner.SetNamespace(r.snapshot.Owner.GetNamespace())
	next := status.Next(r.snapshot.Owner, r.program, r.plan, time.Time{})
	conditions, _ := next["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			delete(condition, "lastTransitionTime")
		}
	}
	owner.Object["status"] = next
	return owner
}
