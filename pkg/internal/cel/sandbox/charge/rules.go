package charge

import (
	"math/bits"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// Rule charges a meter for what a call with these arguments will cost, before it is made.
// The arguments are as CEL has checked them, in number, but of any type; they are only
// read. The memory of the result is charged afterwards, by its size (see ChargeResult): a rule
// only ensures that there is room for it, and for what the call needs meanwhile.
//
// A rule keeps nothing and is safe for concurrent use, with a meter of its own each time.
type Rule func(m *meter.Meter, args []ref.Val)

// IsFree reports whether a function costs no more than a step, whatever its arguments: it
// reads them at most once and not what is in them, and allocates nothing.
func IsFree(function string) bool {
	switch function {
	case operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr, operators.Conditional,
		operators.NotStrictlyFalse,
		"dyn", "type", "hasValue", "value", "first", "last", "optional.of", "optional.none", "optional.ofNonZeroValue":
		return true
	}
	return false
}

// RuleOf returns the rule of a function, by its name. One that is not known here is taken
// to go through all of its arguments, and to need many times their size for a while.
func RuleOf(function string) Rule {
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
	case "matches", "find", "findAll":
		return regexRule
	case "quantity", "isQuantity":
		return quantityRule
	case "getQuery":
		return queryRule
	case "@schedule":
		return scheduleRule
	case "open":
		return openRule
	case "cel.@mapInsert":
		return insertRule
	}
	return deepRule
}

// deepRule is for what goes through all of its arguments.
func deepRule(m *meter.Meter, args []ref.Val) {
	parts, bytes := scanValues(m, args)
	m.ChargeSteps(bytes / 16)
	m.EnsureMemory(64*parts + 8*bytes)
}

// foreignSteps is what a call of a function takes of which nothing is known, beside what goes through its arguments
// and its result.
const foreignSteps = 64

// ForeignCall is the Rule of a function of which nothing is known.
func ForeignCall(m *meter.Meter, args []ref.Val) {
	m.ChargeSteps(foreignSteps)
	deepRule(m, args)
	m.CheckTime()
}

// ForeignResult charges all that a function gave of which nothing is known, and the time that it took, and returns it. An
// argument's error, in place of a call, costs nothing.
func ForeignResult(m *meter.Meter, result ref.Val) ref.Val {
	m.CheckTime()
	if !types.IsUnknownOrError(result) {
		parts, bytes := scanValue(m, result, true)
		m.ChargeMemory(64*parts + bytes)
	}
	return result
}

// textRule is for what goes through text at the speed of memory, and makes nothing.
func textRule(m *meter.Meter, args []ref.Val) {
	for _, arg := range args {
		switch v := arg.(type) {
		case types.String:
			m.ChargeSteps(len(v) / 64)
		case types.Bytes:
			m.ChargeSteps(len(v) / 64)
		}
	}
}

// shallowRule is for what copies a list without what is in it.
func shallowRule(m *meter.Meter, args []ref.Val) {
	m.ChargeSteps(SizeOf(args[0]))
	m.EnsureMemory(32 * SizeOf(args[0]))
}

// flattenRule: the lists in a list are gone through, as deep as they are.
func flattenRule(m *meter.Meter, args []ref.Val) {
	parts, _ := scanValue(m, args[0], false)
	m.EnsureMemory(64 * parts)
}

// maxListSize is how many elements an addition of lists may give. Such a list is only
// a view of its parts, and takes no memory however long it is.
const maxListSize = 1 << 20

// addRule: adding text copies it; adding lists does not.
func addRule(m *meter.Meter, args []ref.Val) {
	switch args[0].(type) {
	case types.String, types.Bytes:
		size := SizeOf(args[0]) + SizeOf(args[1])
		m.ChargeSteps(size / 64)
		m.EnsureMemory(size)
	case traits.MutableLister: // a macro's own list: it grows
		m.ChargeSteps(SizeOf(args[1]))
		m.ChargeMemory(48 * SizeOf(args[1]))
	case traits.Lister:
		if SizeOf(args[0])+SizeOf(args[1]) > maxListSize {
			m.StopForMemory()
		}
	}
}

// searchRule: in text, each place is compared letter by letter; in a list, each
// element.
func searchRule(m *meter.Meter, args []ref.Val) {
	parts, bytes := scanValues(m, args)
	if texts, ok := textArguments(args, 2); ok {
		m.ChargeSteps(bytes/4 + len(texts[0])/16*len(texts[1]))
		m.EnsureMemory(8 * bytes)
		return
	}
	m.ChargeSteps(parts + bytes/16)
}

// textArguments returns the first n arguments if they are text.
func textArguments(args []ref.Val, n int) ([]string, bool) {
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

// rangeRule: a list is made of as many numbers.
func rangeRule(m *meter.Meter, args []ref.Val) {
	if n, ok := args[0].(types.Int); ok && n > 0 {
		m.EnsureMemory(int(min(int64(n), meter.MemoryLimit)) * 48)
		m.ChargeSteps(int(n))
	}
}

// sortRule: what is sorted by is compared about log2(n) times each.
func sortRule(m *meter.Meter, args []ref.Val) {
	size := SizeOf(args[0])
	by := args[len(args)-1]
	_, bytes := scanValue(m, by, true)
	m.ChargeSteps((2*size + bytes/64) * bits.Len(uint(size)))
	m.EnsureMemory(96 * size)
}

// pairsRule is for what compares each with each.
func pairsRule(m *meter.Meter, args []ref.Val) {
	parts, bytes := scanValues(m, args)
	size := 0
	for _, arg := range args {
		size = max(size, SizeOf(arg))
	}
	m.ChargeSteps((parts + bytes/64) * (1 + size/4))
	m.EnsureMemory(64 * parts)
}

// insertRule: a macro's own map grows, any other is copied.
func insertRule(m *meter.Meter, args []ref.Val) {
	added := 1
	if len(args) == 2 {
		added = SizeOf(args[1])
	}
	if _, ok := args[0].(traits.MutableMapper); !ok {
		added += SizeOf(args[0])
	}
	m.ChargeSteps(4 * added)
	m.ChargeMemory(160 * added)
}

// What the searches for runs of a schedule take, in steps: the rarest schedules that there are take so long.
const (
	scheduleSteps = 2_000
	openSteps     = 20_000
)

// scheduleRule: the last and the next run are looked for.
func scheduleRule(m *meter.Meter, _ []ref.Val) { m.ChargeSteps(scheduleSteps) }

// openRule: some dozens of runs are looked for.
func openRule(m *meter.Meter, _ []ref.Val) { m.ChargeSteps(openSteps) }
