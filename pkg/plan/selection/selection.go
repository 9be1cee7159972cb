// Package selection says whether a policy serves an owner: by what the policy as a whole says, by its
// scope, and by the selector and the filter of its owners.
//
// The package is pure: no I/O, no goroutine, no clock, no log.
package selection

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Refusal is why a policy does not serve an owner.
type Refusal struct {
	// Reason is for users, as in `its filter is false`.
	Reason string
	// Err is the failure of a filter that could not say whether it wants the owner: nothing is
	// to be concluded. Nil if the policy does not want it.
	Err error
}

// RefuseOwner says why a policy does not serve an owner, nil if it does, as far as the two tell: the
// labels of the owner's namespace are not looked at. It is pure.
func RefuseOwner(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) *Refusal {
	namespace := ScopeNamespace(owner)
	switch {
	case program.Retire:
		return &Refusal{Reason: "it is retired"}
	case program.Suspend:
		return &Refusal{Reason: "it is suspended"}
	case namespace != "" && program.ExcludesNamespace(namespace):
		return &Refusal{Reason: fmt.Sprintf("it excludes namespace %q", namespace)}
	case namespace != "" && !program.MayHaveNamespace(namespace):
		return &Refusal{Reason: fmt.Sprintf("its scope does not have namespace %q", namespace)}
	}
	return RefuseContent(ctx, program, owner)
}

// RefuseContent says why a policy does not serve an owner that is in its scope: by the owner's
// labels, or by the filter; nil if it does. An owner without a field that the filter reads is
// not wanted. It is pure; the evaluation has a budget of its own.
func RefuseContent(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) *Refusal {
	selector, filter := program.Owner.Selector, program.Owner.Filter
	if selector != nil && !selector.Empty() && !selector.Matches(labels.Set(owner.GetLabels())) {
		return &Refusal{Reason: fmt.Sprintf("the owner's labels do not match %s", selector)}
	}
	if filter == nil {
		return nil
	}
	ctx = meter.WithBudget(ctx, meter.NewBudget(0, 0))
	wanted, err := filter.EvalBool(ctx, cel.Activation{"object": program.Owner.See(owner.Object)})
	switch {
	case cel.IsNoSuchKey(err):
		return &Refusal{Reason: fmt.Sprintf("its filter fails: %v", err)}
	case err != nil:
		return &Refusal{Reason: fmt.Sprintf("its filter fails: %v", err), Err: err}
	case !wanted:
		return &Refusal{Reason: "its filter is false"}
	}
	return nil
}

// ScopeNamespace is the namespace by which an owner is in a scope: of a Namespace, itself; empty
// for another owner without one.
func ScopeNamespace(owner *unstructured.Unstructured) string {
	if owner.GroupVersionKind() == (schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}) {
		return owner.GetName()
	}
	return owner.GetNamespace()
}
