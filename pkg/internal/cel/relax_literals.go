package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
)

// relaxLiterals lets the list and map literals of an expression hold values of
// different types, as JSON does. Kubernetes' environment refuses these, and with
// them every literal that holds a field of an untyped variable beside a
// constant, as in {"app": "web", "instance": owner.metadata.name}. The elements
// of such literals, and keys of which one is computed, are wrapped in dyn(),
// which computes nothing; optional ones (`?x`) are left, for a field of an untyped
// variable is dyn in them anyway.
func relaxLiterals(parsed *ast.AST) {
	l := literalRelaxer{factory: ast.NewExprFactory(), next: ast.MaxID(parsed)}
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(l.relaxLiteral))
}

// literalRelaxer relaxes the literals of one expression.
type literalRelaxer struct {
	factory ast.ExprFactory
	next    int64 // the first expression id that is free
}

func (l *literalRelaxer) relaxLiteral(e ast.Expr) {
	switch e.Kind() {
	case ast.ListKind:
		list := e.AsList()
		if areOfOneType(list.Elements()) {
			return
		}
		elements := make([]ast.Expr, 0, list.Size())
		for i, element := range list.Elements() {
			if !list.IsOptional(int32(i)) {
				element = l.wrapDyn(element)
			}
			elements = append(elements, element)
		}
		e.SetKindCase(l.factory.NewList(e.ID(), elements, list.OptionalIndices()))
	case ast.MapKind:
		l.relaxMap(e)
	}
}

func (l *literalRelaxer) relaxMap(e ast.Expr) {
	var keys, values []ast.Expr
	for _, entry := range e.AsMap().Entries() {
		keys = append(keys, entry.AsMapEntry().Key())
		values = append(values, entry.AsMapEntry().Value())
	}
	looseKeys, looseValues := !areOfOneType(keys) && slices.ContainsFunc(keys, isComputed), !areOfOneType(values)
	entries := make([]ast.EntryExpr, 0, len(values))
	for _, entry := range e.AsMap().Entries() {
		m := entry.AsMapEntry()
		key, value := m.Key(), m.Value()
		if looseKeys {
			key = l.wrapDyn(key)
		}
		if looseValues && !m.IsOptional() {
			value = l.wrapDyn(value)
		}
		entries = append(entries, l.factory.NewMapEntry(entry.ID(), key, value, m.IsOptional()))
	}
	e.SetKindCase(l.factory.NewMap(e.ID(), entries))
}

func isComputed(e ast.Expr) bool { return e.Kind() != ast.LiteralKind }

// wrapDyn puts dyn() around a part.
func (l *literalRelaxer) wrapDyn(e ast.Expr) ast.Expr {
	l.next++
	return l.factory.NewCall(l.next-1, "dyn", e)
}

// areOfOneType reports whether values are sure to be of one type: at most one, or all
// literals of one type.
func areOfOneType(values []ast.Expr) bool {
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
