package cel

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// walkComprehension binds the variables of a macro. It returns the place that
// the macro's result denotes, if it does: see isFilter and sandbox.IsBinding.
func (r *reader) walkComprehension(c ast.ComprehensionExpr, s *scope) place {
	if sandbox.IsBinding(c) {
		return r.walkBinding(c, s)
	}
	over := r.walk(c.IterRange(), s)
	r.use(c.AccuInit(), s)
	element := &scope{name: c.IterVar(), bound: over.field(fields.Any), outer: s}
	inner := element
	if c.HasIterVar2() { // the first is the key or the position, the second the element
		element = &scope{name: c.IterVar2(), bound: over.field(fields.Any), outer: &scope{name: c.IterVar(), outer: s}}
		inner = element
	}
	inner = &scope{name: c.AccuVar(), outer: inner}
	if condition, ok := isFilter(c); ok {
		r.use(condition, inner)
		r.present(over.field(fields.Any))
		return over
	}
	r.use(c.LoopCondition(), inner)
	r.use(c.LoopStep(), inner)
	r.use(c.Result(), &scope{name: c.AccuVar(), outer: s})
	if !element.used { // it still sees how many there are
		r.present(over.field(fields.Any))
	}
	return nil
}

// isFilter says whether a macro gives a list of some elements of its range, and
// returns the condition: for each element, condition ? accu + [element] : accu.
func isFilter(c ast.ComprehensionExpr) (ast.Expr, bool) {
	step, ok := callOf(c.LoopStep(), operators.Conditional)
	if !ok || c.HasIterVar2() || !isIdent(c.Result(), c.AccuVar()) || !isIdent(step[2], c.AccuVar()) {
		return nil, false
	}
	added, ok := callOf(step[1], operators.Add)
	if !ok || !isIdent(added[0], c.AccuVar()) || added[1].Kind() != ast.ListKind {
		return nil, false
	}
	elements := added[1].AsList().Elements()
	return step[0], len(elements) == 1 && isIdent(elements[0], c.IterVar())
}

func callOf(e ast.Expr, function string) ([]ast.Expr, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
		return nil, false
	}
	return e.AsCall().Args(), true
}

func isIdent(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}

func (r *reader) walkBinding(c ast.ComprehensionExpr, s *scope) place {
	bound := r.walk(c.AccuInit(), s)
	r.present(bound)
	return r.walk(c.Result(), &scope{name: c.AccuVar(), bound: bound, outer: s})
}
