package cel

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// rule counts what a call with these arguments will cost, before it is made. What
// is made and given back is counted by the result, see guardedCall; a rule only
// makes sure that there is room for it.
type rule func(m *meter, args []ref.Val)

// isFree says whether a function costs no more than a step, whatever it is given:
// it looks at its arguments at most once and not into them, and makes nothing.
func isFree(function string) bool {
	switch function {
	case operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr, operators.Conditional,
		operators.NotStrictlyFalse,
		"dyn", "type", "hasValue", "value", "first", "last", "optional.of", "optional.none", "optional.ofNonZeroValue":
		return true
	}
	return false
}

// ruleOf returns the rule of a function. What is not known here goes through all
// of its arguments, and may need many times their size for a while.
func ruleOf(function string) rule {
	switch function {
	case operators.Add:
		return addRule
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, "size", "startsWith", "endsWith", "contains":
		return textRule
	case "slice", "reverse":
		return shallowRule
	case "flatten":
		return flattenRule
	case "replace":
		return replaceRule
	case "split":
		return splitRule
	case "join":
		return joinRule
	case "format":
		return formatRule
	case "indexOf", "lastIndexOf":
		return searchRule
	case "lists.range":
		return rangeRule
	case "sort", "@sortByAssociatedKeys":
		return sortRule
	case "distinct", "sets.contains", "sets.equivalent", "sets.intersects", "includes":
		return pairsRule
	case "quantity", "isQuantity":
		return quantityRule
	case "getQuery":
		return queryRule
	case "cel.@mapInsert":
		return insertRule
	}
	return deepRule
}

func (m *meter) scanAll(args []ref.Val) (parts, bytes int) {
	for _, arg := range args {
		p, b := m.scan(arg, true)
		parts, bytes = parts+p, bytes+b
	}
	return parts, bytes
}

func deepRule(m *meter, args []ref.Val) {
	parts, bytes := m.scanAll(args)
	m.step(bytes / 16)
	m.need(64*parts + 8*bytes)
}

// textRule is for what goes through text at the speed of memory.
func textRule(m *meter, args []ref.Val) {
	for _, arg := range args {
		switch v := arg.(type) {
		case types.String:
			m.step(len(v) / 64)
		case types.Bytes:
			m.step(len(v) / 64)
		}
	}
}

func shallowRule(m *meter, args []ref.Val) {
	m.step(sizeOf(args[0]))
	m.need(32 * sizeOf(args[0]))
}

func flattenRule(m *meter, args []ref.Val) {
	parts, _ := m.scan(args[0], false)
	m.need(64 * parts)
}

// maxListSize is how many elements an addition of lists may give. Such a list is
// only a view on its parts and costs nothing itself, however long it is.
const maxListSize = 1 << 20

func addRule(m *meter, args []ref.Val) {
	switch args[0].(type) {
	case types.String, types.Bytes:
		size := sizeOf(args[0]) + sizeOf(args[1])
		m.step(size / 64)
		m.need(size)
	case traits.MutableLister: // a macro's own list: it grows
		m.step(sizeOf(args[1]))
		m.make(48 * sizeOf(args[1]))
	case traits.Lister:
		if sizeOf(args[0])+sizeOf(args[1]) > maxListSize {
			panic(errMemory)
		}
	}
}

// searchRule: in text, each place is compared letter by letter; in a list, each
// element.
func searchRule(m *meter, args []ref.Val) {
	parts, bytes := m.scanAll(args)
	if texts, ok := textsOf(args, 2); ok {
		m.step(bytes/4 + len(texts[0])/16*len(texts[1]))
		m.need(8 * bytes)
		return
	}
	m.step(parts + bytes/16)
}

// textsOf returns the first n arguments if they are text.
func textsOf(args []ref.Val, n int) ([]string, bool) {
	if len(args) < n {
		return nil, false
	}
	texts := make([]string, n)
	for i := range n {
		text, ok := args[i].(types.String)
		if !ok {
			return nil, false
		}
		texts[i] = string(text)
	}
	return texts, true
}
