package sandbox

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// The functions that instrumentExpr puts into an expression. chargeDecorator gives them
// their meaning.
const (
	rangeFunction    = "@range"    // counts the steps of a loop, and sorts the keys of a map
	keyFunction      = "@key"      // refuses a list or a map as a key
	optionalFunction = "@optional" // refuses what is not optional behind a `?`
)

// returnArgument is what these functions do without a sandbox.
func returnArgument(value ref.Val) ref.Val { return value }

// instrumentExpr marks, by calls, the parts of a checked expression that each
// evaluation has to charge or check and that a plan does not show: what loops run over,
// and keys and optional entries, whose wrong values cel-go would write out at full
// length into its error. It returns how many steps one round of a loop takes, by
// the id of its range's call. The expression is changed.
func instrumentExpr(program *ast.AST) map[int64]int {
	in := instrumenter{factory: ast.NewExprFactory(), next: ast.MaxID(program), weights: map[int64]int{}}
	in.instrumentPart(program.Expr(), 0)
	return in.weights
}

// instrumenter instruments one expression.
type instrumenter struct {
	factory ast.ExprFactory
	next    int64         // the first expression id that is free
	weights map[int64]int // see instrumentExpr
}

// wrapPart puts a call around a part.
func (in *instrumenter) wrapPart(function string, arg ast.Expr) ast.Expr {
	in.next++
	return in.factory.NewCall(in.next-1, function, arg)
}

// instrumentPart instruments a part that stands in so many loops, and returns how many parts it has.
func (in *instrumenter) instrumentPart(e ast.Expr, depth int) int {
	switch e.Kind() {
	case ast.SelectKind:
		return 1 + in.instrumentPart(e.AsSelect().Operand(), depth)
	case ast.CallKind:
		return in.walkCall(e, depth)
	case ast.ListKind:
		return in.walkList(e, depth)
	case ast.MapKind:
		return in.walkMap(e, depth)
	case ast.ComprehensionKind:
		return in.walkLoop(e, depth)
	}
	return 1
}

func (in *instrumenter) walkCall(e ast.Expr, depth int) int {
	call := e.AsCall()
	parts := 1
	if call.IsMemberFunction() {
		parts += in.instrumentPart(call.Target(), depth)
	}
	for _, arg := range call.Args() {
		parts += in.instrumentPart(arg, depth)
	}
	name := call.FunctionName()
	if (name == operators.Index || name == operators.OptIndex) && call.Args()[1].Kind() != ast.LiteralKind {
		e.SetKindCase(in.factory.NewCall(e.ID(), name, call.Args()[0], in.wrapPart(keyFunction, call.Args()[1])))
	}
	return parts
}

func (in *instrumenter) walkList(e ast.Expr, depth int) int {
	list, parts := e.AsList(), 1
	elements := make([]ast.Expr, 0, list.Size())
	for i, element := range list.Elements() {
		parts += in.instrumentPart(element, depth)
		if list.IsOptional(int32(i)) {
			element = in.wrapPart(optionalFunction, element)
		}
		elements = append(elements, element)
	}
	e.SetKindCase(in.factory.NewList(e.ID(), elements, list.OptionalIndices()))
	return parts
}

func (in *instrumenter) walkMap(e ast.Expr, depth int) int {
	parts := 1
	entries := make([]ast.EntryExpr, 0, e.AsMap().Size())
	for _, entry := range e.AsMap().Entries() {
		m := entry.AsMapEntry()
		key, value := m.Key(), m.Value()
		parts += in.instrumentPart(key, depth) + in.instrumentPart(value, depth)
		if key.Kind() != ast.LiteralKind {
			key = in.wrapPart(keyFunction, key)
		}
		if m.IsOptional() {
			value = in.wrapPart(optionalFunction, value)
		}
		entries = append(entries, in.factory.NewMapEntry(entry.ID(), key, value, m.IsOptional()))
	}
	e.SetKindCase(in.factory.NewMap(e.ID(), entries))
	return parts
}

// walkLoop finds the steps of one round: the parts of its condition and step. Loops in
// loops cost more, because looking up a variable goes through all of them.
func (in *instrumenter) walkLoop(e ast.Expr, depth int) int {
	c := e.AsComprehension()
	parts := 1 + in.instrumentPart(c.IterRange(), depth) + in.instrumentPart(c.AccuInit(), depth) + in.instrumentPart(c.Result(), depth+1)
	round := in.instrumentPart(c.LoopCondition(), depth+1) + in.instrumentPart(c.LoopStep(), depth+1)
	if IsBinding(c) {
		return parts + round
	}
	over := in.wrapPart(rangeFunction, c.IterRange())
	in.weights[over.ID()] = round * (4 + depth) / 4
	e.SetKindCase(in.factory.NewComprehensionTwoVar(e.ID(), over, c.IterVar(), c.IterVar2(), c.AccuVar(),
		c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()))
	return parts
}

// IsBinding reports whether a loop runs over an empty list, and so only names a value
// for its result, as optMap does.
func IsBinding(c ast.ComprehensionExpr) bool {
	if c.IterRange().Kind() != ast.ListKind || c.IterRange().AsList().Size() != 0 {
		return false
	}
	step := c.LoopStep()
	return step.Kind() == ast.IdentKind && step.AsIdent() == c.AccuVar()
}

// decorateLazyOptional makes or() and orValue() evaluate their argument only when it
// is needed, as cel-go's library of optionals does in programs of cel.Program.
func decorateLazyOptional(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 || call.Function() != "or" && call.Function() != "orValue" {
		return i, nil
	}
	return &lazyOptional{id: call.ID(), left: call.Args()[0], right: call.Args()[1], unwrap: call.Function() == "orValue"}, nil
}

// lazyOptional is the left optional if it has a value, and otherwise the right.
type lazyOptional struct {
	id          int64
	left, right interpreter.InterpretableV2
	unwrap      bool // give the left one's value, not the optional
}

// ID implements interpreter.Interpretable.
func (n *lazyOptional) ID() int64 { return n.id }

// Eval implements interpreter.Interpretable.
func (n *lazyOptional) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *lazyOptional) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left := n.left.Exec(frame)
	if types.IsUnknownOrError(left) {
		return left
	}
	optional, ok := left.(*types.Optional)
	switch {
	case !ok:
		return types.NoSuchOverloadErr()
	case !optional.HasValue():
		return n.right.Exec(frame)
	case n.unwrap:
		return optional.GetValue()
	}
	return optional
}
