package cel

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// nulls is an object with null where a field may be absent.
func nulls() map[string]any {
	return map[string]any{
		"key":    "none",
		"spec":   map[string]any{"none": nil, "list": []any{nil, map[string]any{"none": nil, "name": "x"}}},
		"labels": map[string]any{"a": nil, "b": "1"},
		"nulls":  map[string]any{"none": nil},
		"status": nil,
	}
}

// TestNull: where it is a field's value, null reads as if the field were absent; what
// is gone through or compared as a whole has its nulls.
func TestNull(t *testing.T) {
	const absent = "no such key: "
	cases := map[string]struct {
		source string
		want   any
		failed string
	}{
		"OrValue":           {source: `owner.?status.?conditions.orValue([])`, want: []any{}},
		"OrValueLast":       {source: `owner.spec.?none.orValue([])`, want: []any{}},
		"Field":             {source: `owner.spec.none`, failed: absent + "none"},
		"Below":             {source: `owner.status.conditions`, failed: absent + "status"},
		"Has":               {source: `has(owner.spec.none) || has(owner.status)`, want: false},
		"HasBelow":          {source: `has(owner.status.conditions)`, failed: absent + "status"},
		"HasOptional":       {source: `has(owner.?spec.none)`, want: false},
		"Optional":          {source: `owner.?status`, want: Absent},
		"OptionalThenField": {source: `owner.?status.conditions`, want: Absent},
		"HasValue":          {source: `owner.?status.hasValue()`, want: false},
		"Index":             {source: `owner['spec']['none']`, failed: absent + "none"},
		"OptionalIndex":     {source: `owner[?'status']`, want: Absent},
		"VariableIndex":     {source: `owner.spec[owner.key]`, failed: absent + redacted},
		"VariableOptional":  {source: `owner.spec[?owner.key].orValue(1)`, want: int64(1)},
		"ComputedIndex":     {source: `owner.spec['no' + 'ne']`, failed: absent + redacted},
		"ComputedOptional":  {source: `owner.spec[?'no' + 'ne'].orValue(1)`, want: int64(1)},
		"Conditional":       {source: `(has(owner.spec) ? owner.spec : owner.labels).none`, failed: absent + "none"},
		"OfResult":          {source: `dyn(owner.spec).?none.orValue(1)`, want: int64(1)},
		"OptMap":            {source: `owner.?status.optMap(s, 1).orValue(2)`, want: int64(2)},
		"Or":                {source: `owner.?status.or(optional.of(1)).value()`, want: int64(1)},
		"InLoop":            {source: `[owner].filter(o, has(o.status)).size()`, want: int64(0)},
		"OfElement":         {source: `[owner.spec.list[1].?none.orValue('y'), owner.spec.list[?1].?none.orValue('z')]`, want: []any{"y", "z"}},
		"OfNullElement":     {source: `owner.spec.list[0].name`, failed: absent + "name"},
		"Literal":           {source: `{'a': dyn(null)}.?a.orValue(1)`, want: int64(1)},
		"Typed":             {source: `{'a': null, 'b': null}.a`, failed: absent + "a"},
		"In":                {source: `'a' in owner.labels`, want: false},
		"InOther":           {source: `'b' in owner.labels && !('c' in owner.labels)`, want: true},
		"Compared":          {source: `owner.spec.none == null`, failed: absent + "none"},
		"ComparedOptional":  {source: `owner.spec.?none.orValue(null) == null`, want: true},
		"ListElement":       {source: `owner.spec.list[0] == null && owner.spec.list[?0].hasValue() && null in owner.spec.list`, want: true},
		"Iterated":          {source: `owner.spec.list.filter(e, e == null).size()`, want: int64(1)},
		"IteratedValues":    {source: `owner.labels.transformList(k, v, k + v)`, want: []any{"b1"}},
		"IteratedKeys":      {source: `owner.labels.map(k, owner.labels[k])`, want: []any{"1"}},
		"Size":              {source: `owner.labels.size()`, want: int64(2)},
		"SizeIsZeroOfNulls": {source: `optional.ofNonZeroValue(owner.nulls).hasValue()`, want: true},
		"Whole":             {source: `owner.labels`, want: map[string]any{"a": nil, "b": "1"}},
		"Equal":             {source: `owner.labels == {'b': '1'}`, want: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, x := range bothPrograms(t, tc.source) {
				got, err := x.Eval(t.Context(), Activation{"owner": nulls()})
				if tc.failed != "" {
					if err == nil || err.Error() != tc.failed || !IsNoSuchKey(err) {
						t.Errorf("gives %v, %v, want %q", got, err, tc.failed)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Absent)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// bothPrograms is an expression as it runs, and with bounds.
func bothPrograms(t *testing.T, source string) []*Expr {
	t.Helper()
	env := mustEnv(t, "owner")
	x := mustCompile(t, env, source)
	bounded := *x
	bounded.program = meteredProgram(t, env, source)
	return []*Expr{x, &bounded}
}

// TestNullIsAbsent: an expression gives the same, value or error, of an object with
// nulls and of one without these fields, unless it counts or compares a whole map.
func TestNullIsAbsent(t *testing.T) {
	env := mustEnv(t, "owner")
	var compiled []*Expr
	for _, source := range sortedKeys(corpus) {
		if x := mustCompile(t, env, source); !looksAtWhole(x) {
			compiled = append(compiled, x)
		}
	}
	if len(compiled) < 30 {
		t.Errorf("only %d expressions of the table look at no whole", len(compiled))
	}
	rapid.Check(t, func(t *rapid.T) {
		owner := sample()
		mutate(t, owner)
		without := withoutNulls(owner).(map[string]any)
		for _, x := range compiled {
			if diff := cmp.Diff(selected(x, without), selected(x, owner)); diff != "" {
				t.Fatalf("%s over %v (-absent +null):\n%s", x.source, owner, diff)
			}
		}
	})
}

// looksAtWhole reports whether an expression counts or compares what may hold nulls.
func looksAtWhole(x *Expr) bool {
	for _, whole := range []string{"size(", "ofNonZeroValue(", "==", "distinct", "sort", " in ", "join", "flatten", "format", "sets."} {
		if strings.Contains(x.source, whole) {
			return true
		}
	}
	return false
}

// selected is the result without the nulls in it.
func selected(x *Expr, owner map[string]any) any {
	value, err := x.Eval(context.Background(), Activation{"owner": owner})
	if err != nil {
		return err.Error()
	}
	if value == Absent {
		return "absent"
	}
	return withoutNulls(value)
}

// withoutNulls copies a value without the fields that are null.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, below := range v {
			if below != nil {
				m[key] = withoutNulls(below)
			}
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, below := range v {
			l[i] = withoutNulls(below)
		}
		return l
	}
	return value
}
