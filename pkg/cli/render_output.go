package cli

import (
	"context"
	"fmt"
	"maps"
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
func (o *renderOptions) print(ctx context.Context, r rendering) error {
	if o.Output == "plan" {
		_, err := fmt.Fprint(o.Out, r.plan.String())
		return err
	}
	objects := append(r.children(ctx), r.owner())
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
func (r rendering) children(ctx context.Context) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, child := range r.program.Children {
		object := desired(r.plan, child.ID)
		if object == nil {
			object = desired(plan.Make(ctx, r.program, unsettled(r.snapshot, child.ID)), child.ID)
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// desired returns the object of the plan's action for a child; nil if there is
// none.
func desired(p *plan.Plan, child string) *unstructured.Unstructured {
	for _, action := range p.Actions {
		if action.Child == child && action.Object != nil {
			return action.Object
		}
	}
	return nil
}

// unsettled returns the snapshot with the labels taken off the observed objects
// of one child. A plan has no action for a child that is as it should be, and
// so does not show it; without its labels it never is.
func unsettled(s plan.Snapshot, child string) plan.Snapshot {
	input := s.Children[child]
	objects := make([]*unstructured.Unstructured, 0, len(input.Objects))
	for _, object := range input.Objects {
		object = object.DeepCopy()
		object.SetLabels(nil)
		objects = append(objects, object)
	}
	input.Objects = objects
	s.Children = maps.Clone(s.Children)
	s.Children[child] = input
	return s
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
