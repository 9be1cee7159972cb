package simulate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// whyLeftAlone says why the policy does not work on the owner, "" if it does, and then
// whether it removes what is there of it.
func (c *cluster) whyLeftAlone(ctx context.Context) (why string, retire bool) {
	held := slices.Contains(c.owner.GetFinalizers(), v1alpha1.FinalizerCleanup) && inventory.IsMarked(c.program.Name, c.owner)
	if held && c.owner.GetDeletionTimestamp() != nil && !c.program.Suspend {
		return "", false
	}
	refusal := plan.Refuse(ctx, c.program, c.owner)
	if refusal == nil || refusal.Err != nil { // whatever a filter says, it is asked only in the scope
		if why := c.whyUnselected(); why != "" {
			refusal = &plan.Refusal{Reason: why}
		}
	}
	if refusal == nil {
		return "", false
	}
	return refusal.Reason, refusal.Err == nil && (c.program.Retire || !c.program.Suspend)
}

// whyUnselected says why the labels of the owner's namespace keep it out of the scope; ""
// if they do not.
func (c *cluster) whyUnselected() string {
	namespace, selector := plan.ScopeNamespace(c.owner), c.program.NamespaceSelector
	if namespace == "" || selector == nil || slices.Contains(c.program.Namespaces, namespace) {
		return ""
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	for _, object := range append(c.byKind[kind], c.owner) {
		is := object.GroupVersionKind() == kind && object.GetName() == namespace
		if is && selector.Matches(labels.Set(object.GetLabels())) {
			return ""
		}
	}
	return fmt.Sprintf("its scope does not have namespace %q: no Namespace of that name with %s is observed", namespace, selector)
}
