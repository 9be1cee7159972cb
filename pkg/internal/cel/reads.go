package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// readsOf finds the free variables of an expression, and what it can read of
// each.
//
// The walk follows what a part of the expression denotes: a place below a
// variable (`owner.spec`, an element of a list that a macro runs over) or
// something computed. A field of a place is a place; whatever else is done with
// a place reads all below it. So the result errs only to the side of too much.
func readsOf(root ast.Expr) map[string]*fields.Set {
	r := reader{reads: map[string]*fields.Set{}}
	r.use(root, nil)
	return r.reads
}

// place is a path below a free variable, the variable first. nil: computed.
type place []string

func (p place) field(name string) place {
	if p == nil {
		return nil
	}
	return append(slices.Clip(p), name)
}

// scope binds the variables of macros, the innermost first.
type scope struct {
	name  string
	bound place
	used  bool
	outer *scope
}

func (s *scope) find(name string) *scope {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s
		}
	}
	return nil
}

type reader struct {
	reads map[string]*fields.Set
}

func (r *reader) record(p place) {
	if p == nil {
		return
	}
	set, ok := r.reads[p[0]]
	if !ok {
		set = &fields.Set{}
		r.reads[p[0]] = set
	}
	set.Add(p[1:]...)
}

// use walks a part whose whole value is used.
func (r *reader) use(e ast.Expr, s *scope) { r.record(r.walk(e, s)) }

// walk returns the place that a part denotes, if it does, and records what is
// read on the way there.
func (r *reader) walk(e ast.Expr, s *scope) place {
	switch e.Kind() {
	case ast.IdentKind:
		if local := s.find(e.AsIdent()); local != nil {
			local.used = true
			return local.bound
		}
		return place{e.AsIdent()}
	case ast.SelectKind:
		return r.walkSelect(e.AsSelect(), s)
	case ast.CallKind:
		return r.walkCall(e.AsCall(), s)
	case ast.ComprehensionKind:
		r.walkComprehension(e.AsComprehension(), s)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.use(element, s)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.use(entry.AsMapEntry().Key(), s)
			r.use(entry.AsMapEntry().Value(), s)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.use(field.AsStructField().Value(), s)
		}
	}
	return nil
}

func (r *reader) walkSelect(sel ast.SelectExpr, s *scope) place {
	at := r.walk(sel.Operand(), s).field(sel.FieldName())
	if sel.IsTestOnly() {
		r.record(at)
		return nil
	}
	return at
}

func (r *reader) walkCall(call ast.CallExpr, s *scope) place {
	args := call.Args()
	switch call.FunctionName() {
	case operators.OptSelect, operators.Index, operators.OptIndex:
		return r.walkIndex(args[0], args[1], s)
	case "value":
		if call.IsMemberFunction() && len(args) == 0 {
			return r.walk(call.Target(), s)
		}
	case "orValue":
		if call.IsMemberFunction() && len(args) == 1 {
			r.use(args[0], s)
			return r.walk(call.Target(), s)
		}
	}
	if call.IsMemberFunction() {
		r.use(call.Target(), s)
	}
	for _, arg := range args {
		r.use(arg, s)
	}
	return nil
}

func (r *reader) walkIndex(operand, index ast.Expr, s *scope) place {
	at := r.walk(operand, s)
	if index.Kind() == ast.LiteralKind {
		if name, ok := index.AsLiteral().(types.String); ok {
			return at.field(string(name))
		}
		return at.field(fields.Any)
	}
	r.use(index, s)
	return at.field(fields.Any)
}

// walkComprehension binds the variable of a macro to the elements of its range.
// A macro that does not look at the elements still sees how many there are.
func (r *reader) walkComprehension(c ast.ComprehensionExpr, s *scope) {
	over := r.walk(c.IterRange(), s)
	r.use(c.AccuInit(), s)
	element := &scope{name: c.IterVar(), bound: over.field(fields.Any), outer: s}
	inner := element
	if c.HasIterVar2() {
		element.bound = nil
		inner = &scope{name: c.IterVar2(), bound: over.field(fields.Any), outer: element}
		element = inner
	}
	inner = &scope{name: c.AccuVar(), outer: inner}
	r.use(c.LoopCondition(), inner)
	r.use(c.LoopStep(), inner)
	r.use(c.Result(), &scope{name: c.AccuVar(), outer: s})
	if !element.used {
		r.record(over)
	}
}
