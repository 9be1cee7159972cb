package cel

import (
	"fmt"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// ReadyVar is the variable that `ready(x)` reads: a map[string]bool that says by
// name which are ready. It is bound by who evaluates; in an expression it cannot
// be written. Among the variables of an Env, it (or "ready") switches the macro on.
const ReadyVar = "__ready"

// readyMacro is the name of the macro, which a child may bear as well.
const readyMacro = "ready"

// readyOptions make `ready(x)` known, where x is one of the variables. A macro's
// own variable of that name changes nothing: x is a name, not a value.
func readyOptions(variables map[string]bool) []celgo.EnvOption {
	expand := func(eh celgo.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *celgo.Error) {
		if args[0].Kind() != ast.IdentKind {
			return nil, eh.NewError(args[0].ID(), "ready() wants the name of a child, as in ready(deployment)")
		}
		name := args[0].AsIdent()
		if !variables[name] {
			return nil, eh.NewError(args[0].ID(), fmt.Sprintf("undeclared reference to '%s' in ready()", name))
		}
		return eh.NewSelect(eh.NewIdent(ReadyVar), name), nil
	}
	return []celgo.EnvOption{
		celgo.Macros(celgo.GlobalMacro(readyMacro, 1, expand)),
		celgo.Variable(ReadyVar, celgo.MapType(celgo.StringType, celgo.BoolType)),
	}
}

// readyNames returns the names that the expression asks for with ready(), sorted.
func readyNames(root ast.Expr) []string {
	var asked map[string]bool
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind || !isIdent(e.AsSelect().Operand(), ReadyVar) {
			return
		}
		if asked == nil {
			asked = map[string]bool{}
		}
		asked[e.AsSelect().FieldName()] = true
	}))
	return sortedKeys(asked)
}

// reservedNames finds the names that only the macros may write.
func reservedNames(source string) []*common.Error {
	for _, reserved := range [][2]string{{ReadyVar, "ready(x)"}, {ClockVar, "reached(x) or schedule(text, zone)"}} {
		if at := strings.Index(source, reserved[0]); at >= 0 {
			before := source[:at]
			line := before[strings.LastIndexByte(before, '\n')+1:]
			return []*common.Error{{
				Location: common.NewLocation(1+strings.Count(before, "\n"), len([]rune(line))),
				Message:  reserved[0] + " is reserved: use " + reserved[1],
			}}
		}
	}
	return nil
}

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
	return bindName(eh, optionalTarget, target, eh.NewCall(operators.Conditional,
		eh.NewMemberCall("hasValue", eh.NewIdent(optionalTarget)),
		result(bindName(eh, name, value, args[1])),
		eh.NewCall("optional.none"),
	)), nil
}

// bindName names a value in an expression: it is a loop of no rounds.
func bindName(eh celgo.MacroExprFactory, name string, value, in ast.Expr) ast.Expr {
	return eh.NewComprehension(eh.NewList(), "#unused", name, value, eh.NewLiteral(types.False), eh.NewIdent(name), in)
}
