package sandbox

import (
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// maxCheapParts is how many parts a cheap expression has at most.
const maxCheapParts = 64

// isCheap reports whether evaluating an expression cannot cost much: it has at most
// maxCheapParts parts, no macro, and only functions that go through their arguments
// once at most and make nothing larger than these.
func isCheap(checked *celgo.Ast) bool {
	program := checked.NativeRep()
	parts, cheap := 0, true
	ast.PreOrderVisit(program.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		parts++
		switch e.Kind() {
		case ast.ComprehensionKind, ast.StructKind:
			cheap = false
		case ast.CallKind:
			cheap = cheap && isCheapCall(program, e.AsCall())
		case ast.ListKind:
			cheap = cheap && len(e.AsList().OptionalIndices()) == 0
		case ast.MapKind:
			cheap = cheap && hasSmallKeys(program, e.AsMap())
		}
	}))
	return cheap && parts <= maxCheapParts
}

// isCheapCall reports whether a call itself is cheap, whatever its arguments cost.
func isCheapCall(program *ast.AST, call ast.CallExpr) bool {
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.OptSelect,
		"dyn", "size", "orValue", "hasValue", "value", "optional.of", "optional.none":
		return true
	case operators.Equals, operators.NotEquals: // it goes through both of two large values
		return isSmallValue(program, args[0]) || isSmallValue(program, args[1])
	case operators.Index, operators.OptIndex: // the error quotes a key that is not there
		return isSmallValue(program, args[1])
	}
	return false
}

// hasSmallKeys reports whether a map literal has no optional entries, and only keys
// that are small.
func hasSmallKeys(program *ast.AST, m ast.MapExpr) bool {
	for _, entry := range m.Entries() {
		if entry.AsMapEntry().IsOptional() || !isSmallValue(program, entry.AsMapEntry().Key()) {
			return false
		}
	}
	return true
}

// isSmallValue reports whether a part of an expression is sure to give a value without
// others in it.
func isSmallValue(program *ast.AST, e ast.Expr) bool {
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
