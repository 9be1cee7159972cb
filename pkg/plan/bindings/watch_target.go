package bindings

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// WatchTarget is where the objects of a watch are for one owner.
type WatchTarget struct {
	// Namespace is where the objects are; empty for all namespaces, and for objects of a
	// kind that has none.
	Namespace string
	// FieldSelector is what the policy's name and fieldSelector select; nil for all.
	FieldSelector fields.Selector
}

// ResolveWatch says where the objects of a watch are for an owner. scope is what expressions
// see, home is the namespace where the policy says none, and namespaced is whether objects of
// the kind have one.
//
// A namespace from an expression is the name of one namespace. All of them (`*`) only the
// text of the policy can say: from an expression it would let whoever writes owners choose
// how much is watched.
func ResolveWatch(ctx context.Context, w *policy.Watch, scope cel.Activation, home string, namespaced bool) (WatchTarget, *problems.Problem) {
	target := WatchTarget{}
	switch {
	case !namespaced, w.AllNamespaces:
	case w.Namespace == nil:
		target.Namespace = home
	default:
		name, problem := watchText(ctx, w, "namespace", w.Namespace, scope)
		if problem != nil {
			return target, problem
		}
		if wrong := wrongNamespace(name); wrong != "" {
			return target, WatchProblem(w, "namespace", fmt.Errorf("%q is no name of a namespace: %s", name, wrong))
		}
		target.Namespace = name
	}
	selector, problem := resolveFields(ctx, w, scope)
	target.FieldSelector = selector
	return target, problem
}

// wrongNamespace says what is wrong with a namespace that an expression gives; empty if
// nothing.
func wrongNamespace(name string) string {
	if name == "*" {
		return `all namespaces are not for an expression to choose, or whoever writes owners would say how much is watched; write namespace: "*" in the policy if it means all`
	}
	return strings.Join(validation.IsDNS1123Label(name), "; ")
}

// resolveFields returns what name and fieldSelector of a watch select; nil for all.
func resolveFields(ctx context.Context, w *policy.Watch, scope cel.Activation) (fields.Selector, *problems.Problem) {
	var selectors []fields.Selector
	if w.FieldTemplate != nil {
		text, problem := watchText(ctx, w, "fieldSelector", w.FieldTemplate, scope)
		if problem != nil {
			return nil, problem
		}
		selector, err := fields.ParseSelector(text)
		if err != nil {
			return nil, WatchProblem(w, "fieldSelector", err)
		}
		selectors = append(selectors, selector)
	}
	if w.Name != nil {
		name, problem := watchText(ctx, w, "name", w.Name, scope)
		if problem != nil {
			return nil, problem
		}
		if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
			return nil, WatchProblem(w, "name", fmt.Errorf("%q is no name of an object: %s", name, wrong[0]))
		}
		selectors = append(selectors, fields.OneTermEqualSelector("metadata.name", name))
	}
	if len(selectors) == 0 {
		return nil, nil
	}
	return fields.AndSelectors(selectors...), nil
}

// watchText renders a template of a watch, which has to give a text.
func watchText(ctx context.Context, w *policy.Watch, part string, template *cel.Template, scope cel.Activation) (string, *problems.Problem) {
	value, err := template.Render(ctx, scope)
	if err != nil {
		return "", WatchProblem(w, part, err)
	}
	text, ok := value.(string)
	if !ok || text == "" {
		return "", WatchProblem(w, part, fmt.Errorf("it has to be a text that is not empty, and is %v", value))
	}
	return text, nil
}

// WatchProblem is the problem of a watch of which a part cannot be computed.
func WatchProblem(w *policy.Watch, part string, err error) *problems.Problem {
	return &problems.Problem{Reason: v1alpha1.ReasonExpressionFailed, Terminal: true, Message: fmt.Sprintf("%s of watch %q: %v", part, w.ID, err)}
}

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
