package sandbox

import (
	"strings"
	"testing"
)

func TestIsCheap(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   bool
	}{
		"Field":       {reason: "reading a field is", source: `owner.spec.size`, want: true},
		"Filter":      {reason: "so are comparisons of a few", source: `owner.a == 'x' && (owner.b > 1 || !has(owner.c))`, want: true},
		"Optional":    {reason: "and optionals", source: `owner.?a[?'b'].orValue({'c': 1}).c`, want: true},
		"Literal":     {reason: "a list or a map that is written out", source: `[{'a': owner.a}, {'b': owner.b}].size() == 2`, want: true},
		"Empty":       {reason: "comparing with an empty list or map is over at once", source: `owner.a == [] || owner.b == {}`, want: true},
		"Macro":       {reason: "a macro runs many times", source: `owner.list.all(e, true)`},
		"Add":         {reason: "text gets longer", source: `owner.a + owner.b`},
		"Regex":       {reason: "an expensive function", source: `owner.a.matches('x')`},
		"Compare":     {reason: "two values that may be large", source: `owner.a == owner.b`},
		"In":          {reason: "in goes through a list", source: `'a' in owner.b`},
		"Key":         {reason: "a key may be large, and stands in the error", source: `owner.a[owner.b]`},
		"MapKey":      {reason: "in a literal, too", source: `{owner.a: 1}`},
		"OptionalIn":  {reason: "an optional element is checked", source: `[?owner.?a]`},
		"OptionalMap": {reason: "so is an optional entry", source: `{?'a': owner.?a}`},
		"Long":        {reason: "many comparisons, of which each may be of all", source: strings.Repeat(`owner.a == 1 && `, 50) + `true`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, checked := check(t, tc.source)
			if got := isCheap(checked); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
			if got := mustPlan(t, tc.source).cheap != nil; got != tc.want {
				t.Errorf("%s: is planned otherwise", tc.reason)
			}
		})
	}
}
