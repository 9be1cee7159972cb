package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// EqualityPredicate says that the field at Path, below a variable, equals Value.
type EqualityPredicate struct {
	Path  []string
	Value string
}

// EqualityPredicates returns those conditions of the expression that all have to hold
// for it to be true, and that compare a field of the variable with a literal
// string. They are in the order of the source.
func (x *Expr) EqualityPredicates(variable string) []EqualityPredicate {
	var found []EqualityPredicate
	collectEqualities(x.root, variable, &found)
	return found
}

// collectEqualities adds those of an expression that has to be true.
func collectEqualities(e ast.Expr, variable string, found *[]EqualityPredicate) {
	if e.Kind() != ast.CallKind {
		return
	}
	call := e.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		for _, arg := range call.Args() {
			collectEqualities(arg, variable, found)
		}
	case operators.Equals:
		left, right := call.Args()[0], call.Args()[1]
		if left.Kind() == ast.LiteralKind {
			left, right = right, left
		}
		if right.Kind() != ast.LiteralKind {
			return
		}
		value, isString := right.AsLiteral().(types.String)
		path, isPath := pathOf(left, variable)
		if isString && isPath {
			*found = append(*found, EqualityPredicate{Path: path, Value: string(value)})
		}
	}
}

// pathOf returns the path below the variable that an expression denotes.
func pathOf(e ast.Expr, variable string) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == variable
	case ast.SelectKind:
		sel := e.AsSelect()
		path, ok := pathOf(sel.Operand(), variable)
		return append(slices.Clip(path), sel.FieldName()), ok && !sel.IsTestOnly()
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || call.Args()[1].Kind() != ast.LiteralKind {
			return nil, false
		}
		name, isString := call.Args()[1].AsLiteral().(types.String)
		path, ok := pathOf(call.Args()[0], variable)
		return append(slices.Clip(path), string(name)), ok && isString
	}
	return nil, false
}
