package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
)

// loosen lets the list and map literals of an expression hold values of
// different types, as JSON does. Kubernetes' environment refuses these, and with
// them every literal that holds a field of an untyped variable beside a
// constant, as in {"app": "web", "instance": owner.metadata.name}. The elements
// of such literals, and keys of which one is computed, are wrapped in dyn(),
// which computes nothing; optional ones (`?x`) are left, for a field of an untyped
// variable is dyn in them anyway.
func loosen(parsed *ast.AST) {
	l := loosener{factory: ast.NewExprFactory(), next: ast.MaxID(parsed)}
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(l.visit))
}

type loosener struct {
	factory ast.ExprFactory
	next    int64 // the first expression id that is free
}

func (l *loosener) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.ListKind:
		list := e.AsList()
		if uniform(list.Elements()) {
			return
		}
		elements := make([]ast.Expr, 0, list.Size())
		for i, element := range list.Elements() {
			if !list.IsOptional(int32(i)) {
				element = l.dyn(element)
			}
			elements = append(elements, element)
		}
		e.SetKindCase(l.factory.NewList(e.ID(), elements, list.OptionalIndices()))
	case ast.MapKind:
		l.visitMap(e)
	}
}

func (l *loosener) visitMap(e ast.Expr) {
	var keys, values []ast.Expr
	for _, entry := range e.AsMap().Entries() {
		keys = append(keys, entry.AsMapEntry().Key())
		values = append(values, entry.AsMapEntry().Value())
	}
	looseKeys, looseValues := !uniform(keys) && slices.ContainsFunc(keys, computed), !uniform(values)
	entries := make([]ast.EntryExpr, 0, len(values))
	for _, entry := range e.AsMap().Entries() {
		m := entry.AsMapEntry()
		key, value := m.Key(), m.Value()
		if looseKeys {
			key = l.dyn(key)
		}
		if looseValues && !m.IsOptional() {
			value = l.dyn(value)
		}
		entries = append(entries, l.factory.NewMapEntry(entry.ID(), key, value, m.IsOptional()))
	}
	e.SetKindCase(l.factory.NewMap(e.ID(), entries))
}

func computed(e ast.Expr) bool { return e.Kind() != ast.LiteralKind }

func (l *loosener) dyn(e ast.Expr) ast.Expr {
	l.next++
	return l.factory.NewCall(l.next-1, "dyn", e)
}

// uniform says whether values are surely of one type: at most one, or all
// literals of one type.
func uniform(values []ast.Expr) bool {
	if len(values) < 2 {
		return true
	}
	for _, v := range values {
		if v.Kind() != ast.LiteralKind || v.AsLiteral().Type() != values[0].AsLiteral().Type() {
			return false
		}
	}
	return true
}
