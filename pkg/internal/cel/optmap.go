package cel

import (
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// optionalMacros replace optMap and optFlatMap of cel-go. Those write their
// target out twice, so that a chain of thirty would be compiled into a billion
// parts; these name it.
func optionalMacros() celgo.EnvOption {
	return celgo.Macros(
		celgo.ReceiverMacro("optMap", 2, func(eh celgo.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *celgo.Error) {
			return bindOptional(eh, target, args, func(e ast.Expr) ast.Expr { return eh.NewCall("optional.of", e) })
		}),
		celgo.ReceiverMacro("optFlatMap", 2, func(eh celgo.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *celgo.Error) {
			return bindOptional(eh, target, args, func(e ast.Expr) ast.Expr { return e })
		}),
	)
}

// optionalTarget is the name of the target, which no expression can write.
const optionalTarget = "@optional_target"

// bindOptional is the target's value bound to the first argument in the second, if
// the target has one.
func bindOptional(eh celgo.MacroExprFactory, target ast.Expr, args []ast.Expr, result func(ast.Expr) ast.Expr) (ast.Expr, *celgo.Error) {
	if args[0].Kind() != ast.IdentKind {
		return nil, eh.NewError(args[0].ID(), "the variable's name must be a simple identifier")
	}
	name := args[0].AsIdent()
	value := eh.NewMemberCall("value", eh.NewIdent(optionalTarget))
	return bind(eh, optionalTarget, target, eh.NewCall(operators.Conditional,
		eh.NewMemberCall("hasValue", eh.NewIdent(optionalTarget)),
		result(bind(eh, name, value, args[1])),
		eh.NewCall("optional.none"),
	)), nil
}

// bind names a value in an expression: it is a loop of no rounds.
func bind(eh celgo.MacroExprFactory, name string, value, in ast.Expr) ast.Expr {
	return eh.NewComprehension(eh.NewList(), "#unused", name, value, eh.NewLiteral(types.False), eh.NewIdent(name), in)
}
