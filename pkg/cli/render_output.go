package cli

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// print writes the rendering in the format that was asked for.
func (o *renderOptions) print(r rendering) error {
	if o.Output == "plan" {
		_, err := fmt.Fprint(o.Out, r.text(r.plan))
		return err
	}
	var objects []any
	for _, object := range append(r.children(), r.statusOnly()) {
		objects = append(objects, object.Object)
	}
	return printObjects(o.Out, o.Output, objects)
}

// children returns the desired objects that are wanted and can be rendered, those of
// the policy itself first, in the order of the program.
func (r rendering) children() []*unstructured.Unstructured {
	var states []plan.ChildState
	if r.ensured != nil {
		states = append(states, r.ensured.Children...)
	}
	var objects []*unstructured.Unstructured
	for _, child := range append(states, r.plan.Children...) {
		if child.Desired != nil {
			objects = append(objects, child.Desired)
		}
	}
	return objects
}

// statusOnly returns the owner's identity with its new status.
func (r rendering) statusOnly() *unstructured.Unstructured {
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(r.snapshot.Owner.GroupVersionKind())
	owner.SetName(r.snapshot.Owner.GetName())
	owner.SetNamespace(r.snapshot.Owner.GetNamespace())
	owner.Object["status"] = r.status()
	return owner
}

// status returns the owner's new status, without the times in the conditions.
func (r rendering) status() map[string]any {
	next := status.Next(r.snapshot.Owner, r.program, r.plan, time.Time{})
	conditions, _ := next["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			delete(condition, "lastTransitionTime")
		}
	}
	return next
}
