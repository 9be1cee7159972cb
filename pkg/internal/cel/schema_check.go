package cel

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
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
	c.checkPart(checked.Expr(), nil)
	slices.SortFunc(c.issues, func(x, y Issue) int { return x.Offset - y.Offset })
	return slices.Compact(c.issues)
}

// knownValue is a value whose schema is known. The zero one is any value.
type knownValue struct {
	schema *Schema
	path   string // how it is written
}

// knownScope binds the variables of macros, the innermost first.
type knownScope struct {
	name  string
	bound knownValue
	outer *knownScope
}

type schemaChecker struct {
	source  string
	info    *ast.SourceInfo
	schemas map[string]*Schema
	issues  []Issue
}

func (c *schemaChecker) checkPart(e ast.Expr, s *knownScope) knownValue {
	switch e.Kind() {
	case ast.IdentKind:
		return c.identValue(e.AsIdent(), s)
	case ast.SelectKind:
		sel := e.AsSelect()
		return c.fieldValue(e, c.checkPart(sel.Operand(), s), sel.FieldName(), sel.IsTestOnly())
	case ast.CallKind:
		return c.callValue(e, s)
	case ast.ComprehensionKind:
		return c.loopValue(e.AsComprehension(), s)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			c.checkPart(element, s)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			c.checkPart(entry.AsMapEntry().Key(), s)
			c.checkPart(entry.AsMapEntry().Value(), s)
		}
	}
	return knownValue{}
}

func (c *schemaChecker) identValue(name string, s *knownScope) knownValue {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.bound
		}
	}
	name = strings.TrimPrefix(name, ".")
	return knownValue{c.schemas[name], name}
}

// fieldValue is a field of a value; maybe: the expression does not count on it.
func (c *schemaChecker) fieldValue(at ast.Expr, of knownValue, name string, maybe bool) knownValue {
	field, ok := of.schema.fieldSchema(name)
	if ok {
		return knownValue{field, of.path + "." + name}
	}
	near := nearestFields(name, of.schema)
	if maybe && !isSlip(name, near) {
		return knownValue{}
	}
	message := fmt.Sprintf("%s has no field %q", of.path, name)
	if len(near) > 0 {
		message += "; " + spelling.DidYouMean(near...)
	}
	c.issues = append(c.issues, Issue{Offset: c.nameOffset(at, name), Message: message})
	return knownValue{}
}

// nearestFields returns those fields of an object that one may have meant by a name,
// the nearest first, three at most.
func nearestFields(name string, object *Schema) []string {
	near := spelling.NearestNames(name, sortedKeys(object.fields), func(field string) int {
		return max(1, min(len(name), len(field))/3)
	})
	return near[:min(len(near), 3)]
}

// isSlip reports whether a name is so near to the first of others that it is hardly
// the name of something else.
func isSlip(name string, near []string) bool {
	return len(near) > 0 && len(name) >= 4 && spelling.EditDistance(name, near[0]) <= 1
}

// nameOffset is where a name stands: behind the start of its selection.
func (c *schemaChecker) nameOffset(at ast.Expr, name string) int {
	start := c.info.GetStartLocation(at.ID())
	from := byteOffset(c.source, start.Line(), start.Column())
	if i := strings.Index(c.source[from:], name); i >= 0 {
		return from + i
	}
	return from
}

func (c *schemaChecker) callValue(e ast.Expr, s *knownScope) knownValue {
	call := e.AsCall()
	parts := call.Args()
	if call.IsMemberFunction() {
		parts = append([]ast.Expr{call.Target()}, parts...)
	}
	args := make([]knownValue, len(parts))
	for i, part := range parts {
		args[i] = c.checkPart(part, s)
	}
	switch name := call.FunctionName(); {
	case name == operators.OptSelect || name == operators.Index || name == operators.OptIndex:
		return c.indexValue(e, args[0], parts[1], name != operators.Index)
	case name == operators.Conditional:
		return commonValue(args[1], args[2])
	case (name == operators.Add || name == "or") && len(args) == 2:
		return commonValue(args[0], args[1])
	case name == "orValue" && len(args) == 2:
		if isEmptyLiteral(parts[1]) {
			return args[0]
		}
		return commonValue(args[0], args[1])
	case name != "dyn" && passesOn(name) && len(args) > 0:
		return args[0]
	case (name == "first" || name == "last") && len(args) == 1:
		return args[0].elementValue()
	}
	return knownValue{}
}

func (k knownValue) elementValue() knownValue {
	if k.schema == nil || !k.schema.list {
		return knownValue{}
	}
	return knownValue{k.schema.elementSchema(), k.path + "[]"}
}

// commonValue is what two values have in common.
func commonValue(x, y knownValue) knownValue {
	if x.schema == y.schema {
		return x
	}
	return knownValue{}
}

// isEmptyLiteral reports whether a part is a literal without any field.
func isEmptyLiteral(e ast.Expr) bool {
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

func (c *schemaChecker) indexValue(at ast.Expr, of knownValue, key ast.Expr, maybe bool) knownValue {
	if key.Kind() == ast.LiteralKind {
		if name, ok := key.AsLiteral().(types.String); ok {
			return c.fieldValue(at, of, string(name), maybe)
		}
	}
	return knownValue{of.schema.elementSchema(), of.path + "[]"}
}

func (c *schemaChecker) loopValue(l ast.ComprehensionExpr, s *knownScope) knownValue {
	if sandbox.IsBinding(l) {
		bound := c.checkPart(l.AccuInit(), s)
		return c.checkPart(l.Result(), &knownScope{l.AccuVar(), bound, s})
	}
	over := c.checkPart(l.IterRange(), s)
	c.checkPart(l.AccuInit(), s)
	inner := &knownScope{l.IterVar(), over.elementValue(), s}
	if l.HasIterVar2() {
		value := knownValue{over.schema.elementSchema(), over.path + "[]"}
		inner = &knownScope{l.IterVar2(), value, &knownScope{l.IterVar(), knownValue{}, s}}
	}
	inner = &knownScope{l.AccuVar(), knownValue{}, inner}
	c.checkPart(l.LoopCondition(), inner)
	c.checkPart(l.LoopStep(), inner)
	c.checkPart(l.Result(), &knownScope{l.AccuVar(), knownValue{}, s})
	if _, ok := isFilter(l); ok && over.schema != nil && over.schema.list {
		return over
	}
	return knownValue{}
}

// Schema says which fields an object has. nil stands for a value of which nothing
// is known. It is immutable and safe for concurrent use; schemas may refer to each
// other in a circle, for what is below a schema is only made when it is asked for.
type Schema struct {
	fields map[string]func() *Schema // an object with these fields and no others
	below  func() *Schema            // of a list or a map: its elements
	list   bool
}

// ObjectOf makes the schema of an object that has these fields and no others. The
// functions give their schemas; each is called once at most. The map must not be
// changed any more.
func ObjectOf(fields map[string]func() *Schema) *Schema {
	once := make(map[string]func() *Schema, len(fields))
	for name, field := range fields {
		once[name] = sync.OnceValue(field)
	}
	return &Schema{fields: once}
}

// ListOf makes the schema of a list of such elements.
func ListOf(element *Schema) *Schema { return LazyListOf(func() *Schema { return element }) }

// LazyListOf is ListOf for a schema that is made when it is asked for.
func LazyListOf(element func() *Schema) *Schema {
	return &Schema{below: sync.OnceValue(element), list: true}
}

// LazyMapOf makes the schema of a map with any keys and such values.
func LazyMapOf(value func() *Schema) *Schema { return &Schema{below: sync.OnceValue(value)} }

// elementSchema is the schema of what is in a list or a map.
func (s *Schema) elementSchema() *Schema {
	if s == nil || s.below == nil {
		return nil
	}
	return s.below()
}

// fieldSchema returns the schema of a field or of a map's value; known is false if the
// value is sure not to have it.
func (s *Schema) fieldSchema(name string) (field *Schema, known bool) {
	switch {
	case s == nil || s.list:
		return nil, true
	case s.below != nil:
		return s.below(), true
	}
	get, known := s.fields[name]
	if !known {
		return nil, false
	}
	return get(), true
}
