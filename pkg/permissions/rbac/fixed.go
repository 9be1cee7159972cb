package rbac

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// fixed is what a template says whatever owner there is.
type fixed struct {
	value any
	// open are the paths of what depends on owners, as in `rules[0].verbs`; empty for
	// the whole template.
	open []string
}

// constantVariables are the variables that do not depend on owners.
func constantVariables(ctx context.Context, program *policy.Program) cel.Activation {
	known := cel.Activation{"policy": map[string]any{"name": program.Name, "namespace": program.Namespace}}
	for _, v := range program.Variables {
		if !isKnown(v.Expr.FreeVariables(), known) {
			continue
		}
		if value, err := v.Expr.Eval(ctx, known); err == nil && value != cel.Absent {
			known[v.Name] = value
		}
	}
	return known
}

func isKnown(names []string, known cel.Activation) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return known[name] == nil })
}

// evaluateConstant evaluates what of a template can be; nil gives what is not known at all.
func evaluateConstant(ctx context.Context, t *cel.Template, known cel.Activation) fixed {
	if t == nil {
		return fixed{open: []string{""}}
	}
	value, failed := t.RenderPartial(ctx, known)
	f := fixed{value: value}
	for _, leaf := range failed {
		f.open = append(f.open, leaf.Path)
	}
	return f
}

// isConstant says whether nothing at a path, below it or above it depends on owners.
func (f fixed) isConstant(path string) bool {
	return !slices.ContainsFunc(f.open, func(open string) bool { return isWithin(open, path) || isWithin(path, open) })
}

// isWithin says whether a path is another one, or below it.
func isWithin(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || other == "" || rest[0] == '.' || rest[0] == '[')
}

// textAt is a string in the template; known is false if owners decide. "" and true: it
// is not there, or not a string.
func (f fixed) textAt(path ...string) (text string, known bool) {
	if !f.isConstant(strings.Join(path, ".")) {
		return "", false
	}
	if object, ok := f.value.(map[string]any); ok {
		text, _, _ = unstructured.NestedString(object, path...)
		return text, true
	}
	text, _ = f.value.(string)
	return text, true
}
