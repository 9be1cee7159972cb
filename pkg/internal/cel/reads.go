package cel

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// readsOf finds which of these variables an expression uses, and what it can
// read of each.
//
// The walk follows what a part of the expression denotes: a place below a
// variable (`owner.spec`, an element of a list that a macro runs over) or
// something computed. A field of a place is a place, and so is what gives a value
// on unchanged, or only some elements of it, as filter() does. has() and size()
// read of a place only that it is there. Whatever else is done with a place reads
// all below it. So the result errs only to the side of too much.
func readsOf(root ast.Expr, variables map[string]bool) map[string]*fields.Set {
	r := reader{variables: variables, reads: map[string]*fields.Set{}}
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
	variables map[string]bool
	reads     map[string]*fields.Set
}

// record notes that all at and below a place is read.
func (r *reader) record(p place) {
	if p != nil {
		r.of(p).Add(p[1:]...)
	}
}

// present notes that of a place only its presence is read.
func (r *reader) present(p place) {
	if p != nil {
		r.of(p).AddPresence(p[1:]...)
	}
}

func (r *reader) of(p place) *fields.Set {
	set, ok := r.reads[p[0]]
	if !ok {
		set = &fields.Set{}
		r.reads[p[0]] = set
	}
	return set
}

// use walks a part whose whole value is used.
func (r *reader) use(e ast.Expr, s *scope) { r.record(r.walk(e, s)) }

// walk returns the place that a part denotes, if it does, and records what is
// read on the way there.
func (r *reader) walk(e ast.Expr, s *scope) place {
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

// walkIdent finds what a name stands for. With a dot before it, it is never a
// macro's variable. Names of types are no variables.
func (r *reader) walkIdent(name string, s *scope) place {
	if local := s.find(name); local != nil {
		local.used = true
		return local.bound
	}
	if name = strings.TrimPrefix(name, "."); r.variables[name] {
		r.of(place{name}) // it is used, whatever of it
		return place{name}
	}
	return nil
}

func (r *reader) walkSelect(sel ast.SelectExpr, s *scope) place {
	at := r.walk(sel.Operand(), s).field(sel.FieldName())
	if sel.IsTestOnly() {
		r.present(at)
		return nil
	}
	return at
}

func (r *reader) walkCall(call ast.CallExpr, s *scope) place {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	switch name := call.FunctionName(); {
	case name == operators.OptSelect || name == operators.Index || name == operators.OptIndex:
		return r.walkIndex(args[0], args[1], s)
	case name == "size" && len(args) == 1:
		r.present(r.walk(args[0], s).field(fields.Any))
	case name == "hasValue" && len(args) == 1:
		r.present(r.walk(args[0], s))
	case passesOn(name) && len(args) > 0:
		return r.walkFirst(args, s)
	case (name == "first" || name == "last") && len(args) == 1:
		return r.walk(args[0], s).field(fields.Any)
	default:
		for _, arg := range args {
			r.use(arg, s)
		}
	}
	return nil
}

// passesOn says whether a function's result is its target or first argument, or
// an optional of it, or a list of elements of it, without a look at these.
func passesOn(function string) bool {
	switch function {
	case "dyn", "value", "orValue", "optional.of", "reverse", "slice", "@sortByAssociatedKeys":
		return true
	}
	return false
}

// walkFirst returns the place of the first argument; the others are used.
func (r *reader) walkFirst(args []ast.Expr, s *scope) place {
	for _, arg := range args[1:] {
		r.use(arg, s)
	}
	return r.walk(args[0], s)
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
