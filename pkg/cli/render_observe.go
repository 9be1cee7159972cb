package cli

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// placeholderUID is the uid of an owner whose file has none.
const placeholderUID = "00000000-0000-0000-0000-000000000000"

// completeOwner returns the owner as an API server would have it: with a uid, a
// generation, and the namespace if it has none of its own.
func completeOwner(owner *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	owner = owner.DeepCopy()
	if owner.GetUID() == "" {
		owner.SetUID(placeholderUID)
	}
	if owner.GetGeneration() == 0 {
		owner.SetGeneration(1)
	}
	if owner.GetNamespace() == "" {
		owner.SetNamespace(namespace)
	}
	return owner
}

// unserved says why the policy does not work on the owner; "" if it does.
func unserved(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) string {
	namespace := owner.GetNamespace()
	switch selector, err := labels.Parse(program.Owner.LabelSelector); {
	case program.Suspend:
		return "it is suspended"
	case slices.Contains(program.Exclude, namespace):
		return fmt.Sprintf("it excludes namespace %q", namespace)
	case len(program.Namespaces) > 0 && !slices.Contains(program.Namespaces, namespace):
		return fmt.Sprintf("its scope does not have namespace %q", namespace)
	case err == nil && !selector.Matches(labels.Set(owner.GetLabels())):
		return fmt.Sprintf("the owner's labels do not match %s", selector)
	case program.Owner.Filter == nil:
		return ""
	}
	switch serves, err := program.Owner.Filter.EvalBool(ctx, cel.Activation{"object": owner.Object}); {
	case err != nil:
		return fmt.Sprintf("its filter fails: %v", err)
	case !serves:
		return "its filter is false"
	}
	return ""
}

// observe returns the snapshot in which the given objects are all that there is.
func observe(program *policy.Program, owner *unstructured.Unstructured, objects []*unstructured.Unstructured) plan.Snapshot {
	s := plan.Snapshot{Owner: owner, Children: map[string]plan.Input{}, Watches: map[string]plan.Input{}}
	byKind := map[schema.GroupVersionKind][]*unstructured.Unstructured{}
	for number, object := range objects {
		object = object.DeepCopy()
		if object.GetNamespace() == "" {
			object.SetNamespace(owner.GetNamespace())
		}
		if isMade(program, object) {
			sign(object, program.Name, owner, number)
		}
		if object.GetNamespace() == owner.GetNamespace() {
			byKind[object.GroupVersionKind()] = append(byKind[object.GroupVersionKind()], object)
		}
	}
	for _, child := range program.Children {
		s.Children[child.ID] = plan.Input{Objects: byKind[child.GVK]}
	}
	for _, watch := range program.Watches {
		s.Watches[watch.ID] = plan.Input{Objects: byKind[watch.GVK]}
	}
	return s
}

// isMade says whether an observed object counts as made by Ambit for the owner:
// it is of the kind of a child, and does not say whose it is.
func isMade(program *policy.Program, object *unstructured.Unstructured) bool {
	return object.GetUID() == "" && len(object.GetOwnerReferences()) == 0 &&
		slices.ContainsFunc(program.Children, func(c *policy.Child) bool { return c.GVK == object.GroupVersionKind() })
}

// sign gives the object what every child has, and a uid by its number.
func sign(object *unstructured.Unstructured, policyName string, owner *unstructured.Unstructured, number int) {
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0001-%012d", number)))
	set := object.GetLabels()
	if set == nil {
		set = map[string]string{}
	}
	set[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	set[v1alpha1.LabelPolicy] = policyName
	set[v1alpha1.LabelOwnerUID] = string(owner.GetUID())
	object.SetLabels(set)
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
}
