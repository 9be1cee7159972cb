package bindings

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// SelectorProblem blames the variable that failed, if one did: the selector does
// not say which it reads.
func (s *Scope) SelectorProblem(w *policy.Watch, err error) *problems.Problem {
	for _, v := range s.program.Variables {
		if f, ok := s.failed[v.Name]; ok {
			return f.Problem()
		}
	}
	return s.Fail("watches."+w.ID+".selector", err).Problem()
}

// WatchFilter returns the watch's filter as a function. An object that lacks a field
// which the filter reads is not selected.
func (s *Scope) WatchFilter(ctx context.Context, w *policy.Watch) func(*unstructured.Unstructured) (bool, *Failure) {
	if w.Filter == nil {
		return func(*unstructured.Unstructured) (bool, *Failure) { return true, nil }
	}
	vars := cel.Activation{"owner": s.Vars["owner"]}
	return func(obj *unstructured.Unstructured) (bool, *Failure) {
		vars["object"] = obj.Object
		wanted, err := w.Filter.EvalBool(ctx, vars)
		if err == nil {
			return wanted, nil
		}
		f := s.Fail("watches."+w.ID+".filter", fmt.Errorf("for %s %q: %w", obj.GetKind(), obj.GetName(), err))
		if f.IsMissing {
			return false, nil
		}
		return false, f
	}
}
