package cel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
)

// unknownFields finds the fields that an expression reads of objects that do not
// have them. It follows what a part of the expression denotes, as readsOf does,
// and says nothing about what is computed: so what it finds is sure. What may be
// absent (`has(a.b)`, `a.?b`) may also be of another version of the schema: of
// these it only finds what looks like a slip.
func unknownFields(source string, checked *ast.AST, schemas map[string]*Schema) []Issue {
	if len(schemas) == 0 {
		return nil
	}
	c := schemaChecker{source: source, info: checked.SourceInfo(), schemas: schemas}
	c.walk(checked.Expr(), nil)
	slices.SortFunc(c.issues, func(x, y Issue) int { return x.Offset - y.Offset })
	return slices.Compact(c.issues)
}

// known is a value whose schema is known. The zero one is any value.
type known struct {
	schema *Schema
	path   string // how it is written
}

// knownScope binds the variables of macros, the innermost first.
type knownScope struct {
	name  string
	bound known
	outer *knownScope
}

type schemaChecker struct {
	source  string
	info    *ast.SourceInfo
	schemas map[string]*Schema
	issues  []Issue
}

func (c *schemaChecker) walk(e ast.Expr, s *knownScope) known {
	switch e.Kind() {
	case ast.IdentKind:
		return c.ident(e.AsIdent(), s)
	case ast.SelectKind:
		sel := e.AsSelect()
		return c.field(e, c.walk(sel.Operand(), s), sel.FieldName(), sel.IsTestOnly())
	case ast.CallKind:
		return c.call(e, s)
	case ast.ComprehensionKind:
		return c.loop(e.AsComprehension(), s)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			c.walk(element, s)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			c.walk(entry.AsMapEntry().Key(), s)
			c.walk(entry.AsMapEntry().Value(), s)
		}
	}
	return known{}
}

func (c *schemaChecker) ident(name string, s *knownScope) known {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.bound
		}
	}
	name = strings.TrimPrefix(name, ".")
	return known{c.schemas[name], name}
}

// field is a field of a value; maybe: the expression does not count on it.
func (c *schemaChecker) field(at ast.Expr, of known, name string, maybe bool) known {
	field, ok := of.schema.field(name)
	if ok {
		return known{field, of.path + "." + name}
	}
	near := nearest(name, sortedKeys(of.schema.fields))
	if maybe && !isSlip(name, near) {
		return known{}
	}
	message := fmt.Sprintf("%s has no field %q", of.path, name)
	if len(near) > 0 {
		message += "; did you mean " + orList(near) + "?"
	}
	c.issues = append(c.issues, Issue{Offset: c.place(at, name), Message: message})
	return known{}
}

// place is where a name stands: behind the place of its selection.
func (c *schemaChecker) place(at ast.Expr, name string) int {
	start := c.info.GetStartLocation(at.ID())
	from := offset(c.source, start.Line(), start.Column())
	if i := strings.Index(c.source[from:], name); i >= 0 {
		return from + i
	}
	return from
}

func (c *schemaChecker) call(e ast.Expr, s *knownScope) known {
	call := e.AsCall()
	parts := call.Args()
	if call.IsMemberFunction() {
		parts = append([]ast.Expr{call.Target()}, parts...)
	}
	args := make([]known, len(parts))
	for i, part := range parts {
		args[i] = c.walk(part, s)
	}
	switch name := call.FunctionName(); {
	case name == operators.OptSelect || name == operators.Index || name == operators.OptIndex:
		return c.index(e, args[0], parts[1], name != operators.Index)
	case name == operators.Conditional:
		return same(args[1], args[2])
	case (name == operators.Add || name == "or") && len(args) == 2:
		return same(args[0], args[1])
	case name == "orValue" && len(args) == 2:
		if isEmpty(parts[1]) {
			return args[0]
		}
		return same(args[0], args[1])
	case name != "dyn" && passesOn(name) && len(args) > 0:
		return args[0]
	case (name == "first" || name == "last") && len(args) == 1:
		return args[0].element()
	}
	return known{}
}

func (k known) element() known {
	if k.schema == nil || !k.schema.list {
		return known{}
	}
	return known{k.schema.element(), k.path + "[]"}
}

// same is what two values have in common.
func same(x, y known) known {
	if x.schema == y.schema {
		return x
	}
	return known{}
}

// isEmpty says whether a part is a literal without any field.
func isEmpty(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.ListKind:
		return e.AsList().Size() == 0
	case ast.MapKind:
		return e.AsMap().Size() == 0
	}
	return false
}

func (c *schemaChecker) index(at ast.Expr, of known, key ast.Expr, maybe bool) known {
	if key.Kind() == ast.LiteralKind {
		if name, ok := key.AsLiteral().(types.String); ok {
			return c.field(at, of, string(name), maybe)
		}
	}
	return known{of.schema.element(), of.path + "[]"}
}

func (c *schemaChecker) loop(l ast.ComprehensionExpr, s *knownScope) known {
	if sandbox.IsBinding(l) {
		bound := c.walk(l.AccuInit(), s)
		return c.walk(l.Result(), &knownScope{l.AccuVar(), bound, s})
	}
	over := c.walk(l.IterRange(), s)
	c.walk(l.AccuInit(), s)
	inner := &knownScope{l.IterVar(), over.element(), s}
	if l.HasIterVar2() {
		value := known{over.schema.element(), over.path + "[]"}
		inner = &knownScope{l.IterVar2(), value, &knownScope{l.IterVar(), known{}, s}}
	}
	inner = &knownScope{l.AccuVar(), known{}, inner}
	c.walk(l.LoopCondition(), inner)
	c.walk(l.LoopStep(), inner)
	c.walk(l.Result(), &knownScope{l.AccuVar(), known{}, s})
	if _, ok := isFilter(l); ok && over.schema != nil && over.schema.list {
		return over
	}
	return known{}
}
