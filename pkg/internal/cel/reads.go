package cel

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// readsOf finds which of these variables an expression uses, and what it can
// read of each.
//
// The walk follows what a part of the expression denotes: a path below a
// variable (`owner.spec`, an element of a list that a macro runs over) or
// something computed. A field of a path is a path, and so is the result of what
// passes a value on unchanged, or only some elements of it, as filter() does. has()
// and size() read only that something is there. Any other use reads all below the
// path. So the result may have too much in it, and never too little.
func readsOf(root ast.Expr, variables map[string]bool) map[string]*fields.Set {
	r := readsFinder{variables: variables, reads: map[string]*fields.Set{}}
	r.walkUsed(root, nil)
	return r.reads
}

// variablePath is a path below a free variable, the variable first. nil: computed.
type variablePath []string

func (p variablePath) withField(name string) variablePath {
	if p == nil {
		return nil
	}
	return append(slices.Clip(p), name)
}

// macroScope binds the variables of macros, the innermost first.
type macroScope struct {
	name  string
	bound variablePath
	used  bool
	outer *macroScope
}

func (s *macroScope) lookupName(name string) *macroScope {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s
		}
	}
	return nil
}

type readsFinder struct {
	variables map[string]bool
	reads     map[string]*fields.Set
}

// recordAll notes that all at and below a path is read.
func (r *readsFinder) recordAll(p variablePath) {
	if p != nil {
		r.fieldsOf(p).Add(p[1:]...)
	}
}

// recordPresence notes that of a path only the presence is read.
func (r *readsFinder) recordPresence(p variablePath) {
	if p != nil {
		r.fieldsOf(p).AddPresence(p[1:]...)
	}
}

func (r *readsFinder) fieldsOf(p variablePath) *fields.Set {
	set, ok := r.reads[p[0]]
	if !ok {
		set = &fields.Set{}
		r.reads[p[0]] = set
	}
	return set
}

// walkUsed walks a part whose whole value is used.
func (r *readsFinder) walkUsed(e ast.Expr, s *macroScope) { r.recordAll(r.walkReads(e, s)) }

// walkReads returns the path that a part denotes, if it does, and records what is
// read on the way there.
func (r *readsFinder) walkReads(e ast.Expr, s *macroScope) variablePath {
	switch e.Kind() {
	case ast.IdentKind:
		return r.walkIdent(e.AsIdent(), s)
	case ast.SelectKind:
		return r.walkSelect(e.AsSelect(), s)
	case ast.CallKind:
		return r.walkCall(e.AsCall(), s)
	case ast.ComprehensionKind:
		return r.walkComprehension(e.AsComprehension(), s)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.walkUsed(element, s)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.walkUsed(entry.AsMapEntry().Key(), s)
			r.walkUsed(entry.AsMapEntry().Value(), s)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.walkUsed(field.AsStructField().Value(), s)
		}
	}
	return nil
}

// walkIdent finds what a name stands for. With a dot before it, it is never a
// macro's variable. Names of types are no variables.
func (r *readsFinder) walkIdent(name string, s *macroScope) variablePath {
	if local := s.lookupName(name); local != nil {
		local.used = true
		return local.bound
	}
	if name = strings.TrimPrefix(name, "."); r.variables[name] {
		r.fieldsOf(variablePath{name}) // it is used, whatever of it
		return variablePath{name}
	}
	return nil
}

func (r *readsFinder) walkSelect(sel ast.SelectExpr, s *macroScope) variablePath {
	at := r.walkReads(sel.Operand(), s).withField(sel.FieldName())
	if sel.IsTestOnly() {
		r.recordPresence(at)
		return nil
	}
	return at
}

func (r *readsFinder) walkCall(call ast.CallExpr, s *macroScope) variablePath {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	switch name := call.FunctionName(); {
	case name == operators.OptSelect || name == operators.Index || name == operators.OptIndex:
		return r.walkIndex(args[0], args[1], s)
	case name == "size" && len(args) == 1:
		r.recordPresence(r.walkReads(args[0], s).withField(fields.Any))
	case name == "hasValue" && len(args) == 1:
		r.recordPresence(r.walkReads(args[0], s))
	case passesOn(name) && len(args) > 0:
		return r.walkFirst(args, s)
	case (name == "first" || name == "last") && len(args) == 1:
		return r.walkReads(args[0], s).withField(fields.Any)
	default:
		for _, arg := range args {
			r.walkUsed(arg, s)
		}
	}
	return nil
}

// passesOn reports whether a function's result is its target or first argument, or
// an optional of it, or a list of elements of it, whatever these are.
func passesOn(function string) bool {
	switch function {
	case "dyn", "value", "orValue", "optional.of", "reverse", "slice", "@sortByAssociatedKeys":
		return true
	}
	return false
}

// walkFirst returns the path of the first argument; the others are used.
func (r *readsFinder) walkFirst(args []ast.Expr, s *macroScope) variablePath {
	for _, arg := range args[1:] {
		r.walkUsed(arg, s)
	}
	return r.walkReads(args[0], s)
}

func (r *readsFinder) walkIndex(operand, index ast.Expr, s *macroScope) variablePath {
	at := r.walkReads(operand, s)
	if index.Kind() == ast.LiteralKind {
		if name, ok := index.AsLiteral().(types.String); ok {
			return at.withField(string(name))
		}
		return at.withField(fields.Any)
	}
	r.walkUsed(index, s)
	return at.withField(fields.Any)
}

// walkComprehension binds the variables of a macro. It returns the path that
// the macro's result denotes, if it does: see isFilter and sandbox.IsBinding.
func (r *readsFinder) walkComprehension(c ast.ComprehensionExpr, s *macroScope) variablePath {
	if sandbox.IsBinding(c) {
		return r.walkBinding(c, s)
	}
	over := r.walkReads(c.IterRange(), s)
	r.walkUsed(c.AccuInit(), s)
	element := &macroScope{name: c.IterVar(), bound: over.withField(fields.Any), outer: s}
	inner := element
	if c.HasIterVar2() { // the first is the key or the position, the second the element
		element = &macroScope{name: c.IterVar2(), bound: over.withField(fields.Any), outer: &macroScope{name: c.IterVar(), outer: s}}
		inner = element
	}
	inner = &macroScope{name: c.AccuVar(), outer: inner}
	if condition, ok := isFilter(c); ok {
		r.walkUsed(condition, inner)
		r.recordPresence(over.withField(fields.Any))
		return over
	}
	r.walkUsed(c.LoopCondition(), inner)
	r.walkUsed(c.LoopStep(), inner)
	r.walkUsed(c.Result(), &macroScope{name: c.AccuVar(), outer: s})
	if !element.used { // it still sees how many there are
		r.recordPresence(over.withField(fields.Any))
	}
	return nil
}

// isFilter reports whether a macro gives a list of some elements of its range, and
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

func (r *readsFinder) walkBinding(c ast.ComprehensionExpr, s *macroScope) variablePath {
	bound := r.walkReads(c.AccuInit(), s)
	r.recordPresence(bound)
	return r.walkReads(c.Result(), &macroScope{name: c.AccuVar(), bound: bound, outer: s})
}
