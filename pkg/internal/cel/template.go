package cel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Template is a JSON-like tree whose strings may hold expressions. It is
// immutable and safe for concurrent use.
type Template struct {
	root      node
	variables []string
	asked     []string
	asksTime  bool
	reads     map[string]*fields.Set
	paths     *fields.Set
}

// TemplateIssue is a mistake in a string of a template.
type TemplateIssue struct {
	// Path leads to the string: map keys (string) and list positions (int).
	Path []any
	// Offset is the place in the string, in bytes.
	Offset int
	// Message is for users and says no place.
	Message string
}

// CompileTemplate compiles a JSON-like tree. A string that is one `${...}` takes
// the value's type; in other text, strings, numbers and bools are put in place
// of `${...}`; `$${` stands for `${`. Map keys are literal. The issues are all
// that were found; with any, the template is nil. The tree is not kept.
func (e *Env) CompileTemplate(tree any) (*Template, []TemplateIssue) {
	paths := &fields.Builder{}
	c := templateCompiler{env: e, asked: map[string]bool{}, template: &Template{reads: map[string]*fields.Set{}}, paths: paths}
	c.template.root = c.compileNode(tree)
	if len(c.issues) > 0 {
		return nil, c.issues
	}
	c.template.variables = sortedKeys(c.template.reads)
	c.template.asked = sortedKeys(c.asked)
	c.template.paths = paths.BuildSet()
	return c.template, nil
}

// FreeVariables are the free variables of all expressions, sorted. Not to be changed.
func (t *Template) FreeVariables() []string { return t.variables }

// AskedReady is as Expr.AskedReady, over all expressions. Not to be changed.
func (t *Template) AskedReady() []string { return t.asked }

// AsksTime reports whether an expression of the template asks ClockVar.
func (t *Template) AsksTime() bool { return t.asksTime }

// FieldsRead is as Expr.FieldsRead, over all expressions. Not to be changed.
func (t *Template) FieldsRead() map[string]*fields.Set { return t.reads }

// FieldsSet are the fields that the template sets; an expression covers everything
// below its place. Not to be changed.
func (t *Template) FieldsSet() *fields.Set { return t.paths }

// Render evaluates the template. The caller owns the result: a JSON-like value,
// or Absent. An absent optional leaves its field or list element out. Errors
// say the place in the template and wrap *EvalError.
func (t *Template) Render(ctx context.Context, a Activation) (any, error) {
	result, failed := t.root.renderNode(ctx, rendering{activation: a})
	if len(failed) > 0 {
		return nil, failed[0]
	}
	return result, nil
}

// RenderShared is Render with a result that shares its constant parts with other results: they must not be
// changed. What is below the keys in owned of the whole is not shared, nor is a part that holds null.
func (t *Template) RenderShared(ctx context.Context, a Activation, owned ...string) (any, error) {
	root, ok := t.root.(mapNode)
	if !ok {
		return t.Render(ctx, a)
	}
	result, failed := root.renderNode(ctx, rendering{activation: a, shares: true, owned: owned})
	if len(failed) > 0 {
		return nil, failed[0]
	}
	return result, nil
}

// RenderPartial is Render without the parts that fail; these are returned,
// sorted by path.
func (t *Template) RenderPartial(ctx context.Context, a Activation) (any, []LeafError) {
	result, failed := t.root.renderNode(ctx, rendering{activation: a, partial: true})
	slices.SortFunc(failed, func(x, y LeafError) int { return strings.Compare(x.Path, y.Path) })
	return result, failed
}

// LeafError is a part of a template that could not be rendered.
type LeafError struct {
	// Path is as in `spec.containers[0].image`; empty for the whole template.
	Path string
	// Err is what Expr.Eval gave.
	Err error
}

// Error implements error.
func (e LeafError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("at %s: %v", e.Path, e.Err)
}

// Unwrap implements errors.Unwrap.
func (e LeafError) Unwrap() error { return e.Err }

// prefixPaths puts one more path element in front of failures.
func prefixPaths(element string, failed []LeafError) []LeafError {
	for i, f := range failed {
		switch {
		case f.Path == "":
			failed[i].Path = element
		case f.Path[0] == '[':
			failed[i].Path = element + f.Path
		default:
			failed[i].Path = element + "." + f.Path
		}
	}
	return failed
}
