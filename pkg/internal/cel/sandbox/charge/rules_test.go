package charge

import (
	"errors"
	"net/url"
	"sort"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	kubernetes "k8s.io/apiserver/pkg/cel"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// value makes a value of CEL.
func value(native any) ref.Val { return types.DefaultTypeAdapter.NativeToValue(native) }

// text is a text of n letters.
func text(n int) ref.Val { return types.String(strings.Repeat("a", n)) }

// numbers is a list of n numbers.
func numbers(n int) ref.Val { return value(make([]int64, n)) }

// native is a list of n numbers that is JSON-like already.
func native(n int) ref.Val { return value(make([]any, n)) }

// growing is a list that a macro makes grow, of n numbers.
func growing(n int) ref.Val {
	list := types.NewMutableList(types.DefaultTypeAdapter)
	for i := range n {
		list.Add(types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{types.Int(i)}))
	}
	return list
}

// charged is what a rule charges, and how much memory has to be free for it.
type charged struct{ steps, memory, room int }

// measure asks a rule for its charges. The error is the limit that it stops at even when
// nothing else was charged. No time passes meanwhile.
func measure(t *testing.T, rule Rule, args []ref.Val) (got charged, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { got, err = measureNow(t, rule, args) })
	return got, err
}

func measureNow(t *testing.T, rule Rule, args []ref.Val) (charged, error) {
	run := func(taken int) (steps, bytes int, err error) {
		var m meter.Meter
		err = m.RunMetered(t.Context(), func() error {
			m.ChargeMemory(taken)
			rule(&m, args)
			return nil
		})
		steps, bytes = m.ChargedTotals()
		return steps, bytes - taken, err
	}
	steps, memory, err := run(0)
	if err != nil {
		return charged{}, err
	}
	room := sort.Search(meter.MemoryLimit, func(free int) bool {
		_, _, err := run(meter.MemoryLimit - free)
		return err == nil
	})
	return charged{steps, memory, room}, nil
}

func TestRules(t *testing.T) {
	args := func(args ...ref.Val) []ref.Val { return args }
	cases := map[string]struct {
		reason   string
		function string
		args     []ref.Val
		want     charged
	}{
		"Unknown":      {reason: "what no rule names goes through all of its arguments", function: "unheard", args: args(numbers(3), text(640)), want: charged{5 + 10 + 41, 0, 64*5 + 8*(24+640)}},
		"Compare":      {reason: "text is compared at the speed of memory", function: operators.Less, args: args(text(640), text(640)), want: charged{20, 0, 0}},
		"CompareInts":  {reason: "numbers are compared in the step of the call", function: operators.Less, args: args(types.Int(1), types.Int(2))},
		"Size":         {reason: "letters are counted", function: "size", args: args(types.Bytes(make([]byte, 128))), want: charged{2, 0, 0}},
		"Slice":        {reason: "a copy of a list, without what is in it", function: "slice", args: args(numbers(10), types.Int(0), types.Int(5)), want: charged{10, 0, 320}},
		"Flatten":      {reason: "lists in a list are gone through", function: "flatten", args: args(value([]any{[]any{1, 2}, []any{3}})), want: charged{6, 0, 6 * 64}},
		"Replace":      {reason: "the result is as large as the places that are replaced", function: "replace", args: args(text(100), text(1), text(11)), want: charged{6 + 17 + 100, 0, 2200}},
		"ReplaceSome":  {reason: "or as many as there may be", function: "replace", args: args(text(100), text(1), text(11), types.Int(2)), want: charged{6 + 1 + 2, 0, 240}},
		"ReplaceOther": {reason: "the call fails for what is no text", function: "replace", args: args(types.Int(1), text(1), text(1))},
		"Split":        {reason: "each place makes an element", function: "split", args: args(types.String("a,b,c"), types.String(",")), want: charged{3, 0, 192}},
		"Join":         {reason: "all elements, and a separator between them", function: "join", args: args(value([]string{"aa", "bb"}), text(3)), want: charged{3, 0, 32*3 + 3*10}},
		"Format":       {reason: "a precision makes as many digits", function: "format", args: args(types.String("%.100f"), native(1)), want: charged{3 + 4 + 28, 0, 512 + 256 + 24 + 800}},
		"Search":       {reason: "each place in text is compared letter by letter", function: "indexOf", args: args(text(160), text(10)), want: charged{2 + 2 + 42 + 100, 0, 8 * 170}},
		"SearchList":   {reason: "each element of a list is compared", function: "indexOf", args: args(numbers(3), types.Int(1)), want: charged{5 + 5 + 2, 0, 0}},
		"Range":        {reason: "as many numbers as it says", function: "lists.range", args: args(types.Int(100)), want: charged{100, 0, 4800}},
		"NegativeRange": {reason: "a negative number of them is none",
			function: "lists.range", args: args(types.Int(-1))},
		"Sort":       {reason: "each is compared as often as the size has digits", function: "sort", args: args(numbers(8)), want: charged{9 + (16+1)*4, 0, 96 * 8}},
		"Pairs":      {reason: "each is compared with each", function: "distinct", args: args(numbers(8)), want: charged{9 + (9+1)*3, 0, 64 * 9}},
		"Quantity":   {reason: "reading digits takes the square of their number", function: "quantity", args: args(types.String(strings.Repeat("1", 64))), want: charged{8 + 64 + 64, 0, 0}},
		"Exponent":   {reason: "a small exponent may be written out", function: "quantity", args: args(types.String("1e64")), want: charged{12, 0, 0}},
		"Query":      {reason: "each letter of a query may be a value", function: "getQuery", args: args(address("a=1&b=2")), want: charged{7, 0, 448}},
		"Insert":     {reason: "a map is copied, and an entry added", function: "cel.@mapInsert", args: args(value(map[string]any{"a": 1}), text(1), text(1)), want: charged{8, 320, 320}},
		"InsertAll":  {reason: "the entries of another may be added", function: "cel.@mapInsert", args: args(value(map[string]any{}), value(map[string]any{"a": 1, "b": 2})), want: charged{8, 320, 320}},
		"InsertOwn":  {reason: "a macro's own map grows", function: "cel.@mapInsert", args: args(types.NewMutableMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{text(1): text(1)}), text(2), text(1)), want: charged{4, 160, 160}},
		"AddText":    {reason: "adding text copies it", function: operators.Add, args: args(text(64), text(64)), want: charged{2, 0, 128}},
		"AddInts":    {reason: "adding numbers is free", function: operators.Add, args: args(types.Int(1), types.Int(2))},
		"AddLists":   {reason: "adding lists copies nothing", function: operators.Add, args: args(numbers(100), numbers(100))},
		"AddToOwn":   {reason: "a macro's own list grows", function: operators.Add, args: args(growing(5), numbers(1)), want: charged{1, 48, 48}},
		"Regex":      {reason: "a pattern is compiled, and each place is tried", function: "matches", args: args(text(15), text(1)), want: charged{1 + 16*1 + 16*9/8, 0, 512}},
		"NoRegex":    {reason: "the call fails for what is no text", function: "matches", args: args(types.Int(1), text(1))},
		"LimitedAll": {reason: "places are kept unless their number is limited", function: "findAll", args: args(text(100), text(1), types.Int(1)), want: charged{1 + 16 + 101*9/8, 0, 512}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := measure(t, RuleOf(tc.function), tc.args); got != tc.want || err != nil {
				t.Errorf("%s: charges %+v, %v, want %+v", tc.reason, got, err, tc.want)
			}
		})
	}
}

// TestForeign: of a function of which nothing is known the call costs, its arguments as for any that no rule names,
// and all of its result.
func TestForeign(t *testing.T) {
	result := func(m *meter.Meter, args []ref.Val) { ForeignResult(m, args[0]) }
	cases := map[string]struct {
		reason string
		rule   Rule
		arg    ref.Val
		want   charged
	}{
		"Call":   {reason: "a call costs what deepRule says, and its own steps", rule: ForeignCall, arg: text(640), want: charged{64 + 11 + 40, 0, 64 + 8*640}},
		"Result": {reason: "all of a result is charged", rule: result, arg: value([]any{strings.Repeat("a", 640), []any{"b"}}), want: charged{5 + 10, 64*4 + 641, 64*4 + 641}},
		"Shared": {reason: "each time that it is there", rule: result, arg: shared(3), want: charged{23, 64*23 + 64, 64*23 + 64}},
		"Failed": {reason: "an error is no result", rule: result, arg: types.NewErr("a mistake")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := measure(t, tc.rule, []ref.Val{tc.arg}); got != tc.want || err != nil {
				t.Errorf("%s: charges %+v, %v, want %+v", tc.reason, got, err, tc.want)
			}
		})
	}
}

// address is a URL with a query.
func address(query string) ref.Val { return kubernetes.URL{URL: &url.URL{RawQuery: query}} }

// largePattern is short, and makes more instructions than are allowed.
const largePattern = "(abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz){1000}"

// TestRefusals: what would give too much is refused before it is made, and nothing is
// gone through that is too large.
func TestRefusals(t *testing.T) {
	half := numbers(maxListSize/2 + 1)
	args := func(args ...ref.Val) []ref.Val { return args }
	cases := map[string]struct {
		reason   string
		function string
		args     []ref.Val
		failed   string
	}{
		"AddLists":         {reason: "a view of many elements", function: operators.Add, args: args(half, half), failed: "memory limit"},
		"Replace":          {reason: "each letter by many", function: "replace", args: args(text(100_000), text(1), text(500)), failed: "memory limit"},
		"Range":            {reason: "a list of many numbers", function: "lists.range", args: args(types.Int(1 << 40)), failed: "memory limit"},
		"Format":           {reason: "many digits", function: "format", args: args(types.String("%.99999999999999999999f"), native(1)), failed: "limit"},
		"Exponent":         {reason: "an exponent that is written out", function: "quantity", args: args(types.String("1e65")), failed: "cost limit"},
		"NegativeExponent": {reason: "in both directions", function: "quantity", args: args(types.String("1E-65")), failed: "cost limit"},
		"LongExponent":     {reason: "and one that is no 64-bit number", function: "isQuantity", args: args(types.String("1e99999999999999999999")), failed: "cost limit"},
		"Pattern":          {reason: "a pattern of many instructions", function: "find", args: args(text(1), types.String(largePattern)), failed: "memory limit"},
		"LongPattern":      {reason: "and one that is long", function: "matches", args: args(text(1), text(maxRegexWeight+1)), failed: "memory limit"},
		"Pairs":            {reason: "many pairs", function: "sets.contains", args: args(numbers(3000), numbers(3000)), failed: "cost limit"},
		"Shared":           {reason: "a value that is shared counts each time", function: "unheard", args: args(shared(20)), failed: "cost limit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := measure(t, RuleOf(tc.function), tc.args)
			if limit := meter.LimitError(""); !errors.As(err, &limit) || !strings.Contains(limit.Error(), tc.failed) {
				t.Errorf("%s: gives %v, want a stop at the %s", tc.reason, err, tc.failed)
			}
		})
	}
}

// shared is a list that holds another twice, and so on.
func shared(depth int) ref.Val {
	list := numbers(1)
	for range depth {
		list = types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{list, list})
	}
	return list
}

// TestLiteralRegexRule: compiling is free, and too large a pattern is refused at once.
func TestLiteralRegexRule(t *testing.T) {
	rule, err := LiteralRegexRule("a")
	if err != nil {
		t.Fatal(err)
	}
	want := charged{101 * 9 / 8, 0, 3200}
	if got, err := measure(t, rule, []ref.Val{text(100), text(1)}); got != want || err != nil {
		t.Errorf("charges %+v, %v, want %+v", got, err, want)
	}
	for _, pattern := range []string{largePattern, strings.Repeat("a", maxRegexWeight+1)} {
		if _, err := LiteralRegexRule(pattern); err != meter.LimitError("the regular expression is too large") {
			t.Errorf("%.20s gives %v", pattern, err)
		}
	}
	if _, err := LiteralRegexRule("("); err != nil {
		t.Errorf("what is no regular expression is found by compiling: %v", err)
	}
}

// TestIsFree: a free function has no rule of its own that would be lost.
func TestIsFree(t *testing.T) {
	for function, want := range map[string]bool{
		operators.Subtract: true, operators.LogicalAnd: true, "dyn": true, "optional.of": true,
		operators.Add: false, "size": false, "replace": false, "unheard": false, "": false,
	} {
		if IsFree(function) != want {
			t.Errorf("%q is free: %v", function, !want)
		}
	}
}

func TestFormatPrecisions(t *testing.T) {
	for format, want := range map[string]int{
		"": 0, "%s": 0, "%.3f": 3, "%.3f %.40e": 43, "12 %d": 0, "%.": 0, "%.7": 7,
		"%.99999999999999999999f": meter.MemoryLimit,
	} {
		if got := formatPrecisions(format); got != want {
			t.Errorf("%q: %d, want %d", format, got, want)
		}
	}
}
