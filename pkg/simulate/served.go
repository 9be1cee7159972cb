package simulate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// whyLeftAlone says why the policy does not work on the owner, "" if it does, and then
// whether it removes what is there of it.
func (c *cluster) whyLeftAlone(ctx context.Context) (why string, retire bool) {
	held := slices.Contains(c.owner.GetFinalizers(), v1alpha1.FinalizerCleanup) && inventory.IsMarked(c.program.Name, c.owner)
	if held && c.owner.GetDeletionTimestamp() != nil && !c.program.Suspend {
		return "", false
	}
	if why = WhyUnserved(ctx, c.program, c.owner); why == "" {
		why = c.whyUnselected()
	}
	return why, why != "" && (c.program.Retire || !c.program.Suspend) && !c.filterFails(ctx)
}

// whyUnselected says why the labels of the owner's namespace keep it out of the scope; ""
// if they do not.
func (c *cluster) whyUnselected() string {
	namespace, selector := scopeNamespace(c.owner), c.program.NamespaceSelector
	if namespace == "" || selector == nil || slices.Contains(c.program.Namespaces, namespace) {
		return ""
	}
	for _, object := range append(c.byKind[namespaceKind()], c.owner) {
		is := object.GroupVersionKind() == namespaceKind() && object.GetName() == namespace
		if is && selector.Matches(labels.Set(object.GetLabels())) {
			return ""
		}
	}
	return fmt.Sprintf("its scope does not have namespace %q: no Namespace of that name with %s is observed", namespace, selector)
}

// filterFails reports whether the filter cannot say if it wants the owner.
func (c *cluster) filterFails(ctx context.Context) bool {
	if c.program.Owner.Filter == nil {
		return false
	}
	_, err := c.program.Owner.Filter.EvalBool(ctx, cel.Activation{"object": c.owner.Object})
	return err != nil && !cel.IsNoSuchKey(err)
}

// WhyUnserved says why a policy does not serve an owner, "" if it does, as far as the two
// tell: the labels of the owner's namespace are not looked at.
func WhyUnserved(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) string {
	namespace := scopeNamespace(owner)
	unlisted := len(program.Namespaces) > 0 && program.NamespaceSelector == nil && !slices.Contains(program.Namespaces, namespace)
	switch {
	case program.Retire:
		return "it is retired"
	case program.Suspend:
		return "it is suspended"
	case namespace != "" && slices.Contains(program.Exclude, namespace):
		return fmt.Sprintf("it excludes namespace %q", namespace)
	case namespace != "" && unlisted:
		return fmt.Sprintf("its scope does not have namespace %q", namespace)
	case !program.Owner.Selector.Matches(labels.Set(owner.GetLabels())):
		return fmt.Sprintf("the owner's labels do not match %s", program.Owner.Selector)
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

// scopeNamespace is the namespace by which an owner is in a scope: of a Namespace itself.
func scopeNamespace(owner *unstructured.Unstructured) string {
	if owner.GroupVersionKind() == namespaceKind() {
		return owner.GetName()
	}
	return owner.GetNamespace()
}

func namespaceKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
}
