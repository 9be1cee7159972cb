package cel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRelaxLiterals(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   any
	}{
		"Map":        {reason: "a constant beside an untyped field", source: `{'a': 'x', 'b': owner.spec.name}`, want: map[string]any{"a": "x", "b": "n"}},
		"MapTypes":   {reason: "values of different types", source: `{'a': 'x', 'b': 1, 'c': [true]}`, want: map[string]any{"a": "x", "b": int64(1), "c": []any{true}}},
		"Keys":       {reason: "a constant key beside an untyped one", source: `{owner.spec.name: 1, 'b': 2}`, want: map[string]any{"n": int64(1), "b": int64(2)}},
		"List":       {reason: "elements of different types", source: `['x', owner.spec.size, null]`, want: []any{"x", int64(3), nil}},
		"Nested":     {reason: "literals in literals", source: `[{'a': [1, 'x']}, {'b': {'c': 1, 'd': 'y'}}]`, want: []any{map[string]any{"a": []any{int64(1), "x"}}, map[string]any{"b": map[string]any{"c": int64(1), "d": "y"}}}},
		"InMacro":    {reason: "literals in macros", source: `[1, 2].map(x, {'a': x, 'b': 'y'})[0]`, want: map[string]any{"a": int64(1), "b": "y"}},
		"Optional":   {reason: "optional entries of untyped fields", source: `{?'a': owner.spec.?name, ?'c': owner.?none, 'b': 1}`, want: map[string]any{"a": "n", "b": int64(1)}},
		"OptionalIn": {reason: "optional elements of untyped fields", source: `[?owner.spec.?name, ?owner.?none, 1]`, want: []any{"n", int64(1)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mustCompile(t, mustEnv(t, "owner"), tc.source).Eval(t.Context(), Activation{"owner": sample()})
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLiteralsKeepTypes: what is uniform is still checked.
func TestLiteralsKeepTypes(t *testing.T) {
	for source, reason := range map[string]string{
		`['a', 'b'].join(1)`:       "the separator is a string",
		`[1, 2] == ['a']`:          "lists of different types are not compared",
		`{'a': 1, 2: 3}`:           "constant keys of different types are a mistake",
		`{'a': 1}.a.startsWith(1)`: "values of a uniform map have its type",
	} {
		if x, _ := mustEnv(t, "owner").CompileExpr(source); x != nil {
			t.Errorf("%s compiles: %s", source, reason)
		}
	}
}
