package cel

import (
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// simpleParts is how many parts a simple expression has at most.
const simpleParts = 64

// isSimple says whether evaluating an expression cannot cost much: it has at most
// simpleParts parts, no macro, and only functions that look at their arguments
// once at most and make nothing larger than these.
func isSimple(checked *celgo.Ast) bool {
	program := checked.NativeRep()
	parts, simple := 0, true
	ast.PreOrderVisit(program.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		parts++
		switch e.Kind() {
		case ast.ComprehensionKind, ast.StructKind:
			simple = false
		case ast.CallKind:
			simple = simple && isSimpleCall(program, e.AsCall())
		case ast.ListKind:
			simple = simple && len(e.AsList().OptionalIndices()) == 0
		case ast.MapKind:
			simple = simple && hasSimpleKeys(program, e.AsMap())
		}
	}))
	return simple && parts <= simpleParts
}

func isSimpleCall(program *ast.AST, call ast.CallExpr) bool {
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.OptSelect,
		"dyn", "size", "orValue", "hasValue", "value", "optional.of", "optional.none":
		return true
	case operators.Equals, operators.NotEquals: // of two values that may be large, it goes through both
		return isSmall(program, args[0]) || isSmall(program, args[1])
	case operators.Index, operators.OptIndex: // a key that is not there is in the message
		return isSmall(program, args[1])
	}
	return false
}

func hasSimpleKeys(program *ast.AST, m ast.MapExpr) bool {
	for _, entry := range m.Entries() {
		if entry.AsMapEntry().IsOptional() || !isSmall(program, entry.AsMapEntry().Key()) {
			return false
		}
	}
	return true
}

// isSmall says whether a part of an expression is sure to give a value without
// others in it.
func isSmall(program *ast.AST, e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.ListKind:
		return e.AsList().Size() == 0
	case ast.MapKind:
		return e.AsMap().Size() == 0
	}
	switch program.GetType(e.ID()).Kind() {
	case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind:
		return true
	}
	return false
}
