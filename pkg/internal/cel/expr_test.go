package cel

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample is an owner with something of every JSON type in it.
func sample() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Thing",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"app": "x", "tier.io/b": "y"}},
		"spec": map[string]any{
			"size": int64(3), "ratio": 1.5, "on": true, "nothing": nil, "name": "n",
			"list":  []any{map[string]any{"name": "one", "port": int64(1)}, map[string]any{"name": "two", "port": int64(2)}},
			"words": []any{"b", "a"},
			"map":   map[string]any{"k": map[string]any{"v": "1", "w": "2"}, "l": map[string]any{"v": "3"}},
		},
	}
}

func TestEval(t *testing.T) {
	cases := map[string]struct {
		source string
		want   any
		failed EvalError // Message is matched in part
	}{
		"Int":            {source: `owner.spec.size + 1`, want: int64(4)},
		"Double":         {source: `owner.spec.ratio * 2.0`, want: 3.0},
		"Text":           {source: `'%d'.format([owner.spec.size])`, want: "3"},
		"Null":           {source: `null`},
		"Duration":       {source: `duration('90s')`, want: "1m30s"},
		"Timestamp":      {source: `timestamp('2026-01-02T03:04:05Z')`, want: "2026-01-02T03:04:05Z"},
		"Bytes":          {source: `b'hi'`, want: "aGk="},
		"Quantity":       {source: `quantity('1500m')`, want: "1500m"},
		"OptionalNone":   {source: `owner.?none`, want: Absent},
		"OptionalInList": {source: `[?owner.?none, 1]`, want: []any{int64(1)}},
		"OptionalInMap":  {source: `{?'a': owner.?none, 'b': 1}`, want: map[string]any{"b": int64(1)}},
		"MixedMap":       {source: `{"a": "x", "b": owner.spec.size, "c": [1, "y", owner.spec.on]}`, want: map[string]any{"a": "x", "b": int64(3), "c": []any{int64(1), "y", true}}},
		"MixedNested":    {source: `[{"a": 1}, {"a": "x"}]`, want: []any{map[string]any{"a": int64(1)}, map[string]any{"a": "x"}}},
		"Copy":           {source: `owner.spec.words`, want: []any{"b", "a"}},
		"NoSuchKey":      {source: `owner.spec.none`, failed: EvalError{NoSuchKey: true, Message: "no such key: none"}},
		"OutOfBounds":    {source: `owner.spec.words[2]`, failed: EvalError{NoSuchKey: true, Message: "index out of bounds"}},
		"Dereference":    {source: `owner.?none.value()`, failed: EvalError{NoSuchKey: true, Message: "optional.none() dereference"}},
		"Uint":           {source: `5u`, want: int64(5)},
		"LargeUint":      {source: `18446744073709551615u`, failed: EvalError{Message: "more than a 64-bit integer holds"}},
		"URL":            {source: `url('http://a/b')`, want: "http://a/b"},
		"Concatenation":  {source: `[1, 2] + [3]`, want: []any{int64(1), int64(2), int64(3)}},
		"Computed":       {source: `{'a': [owner.spec.?size], 'b': optional.none()}`, want: map[string]any{"a": []any{int64(3)}}},
		"NoSuchKeyDeep":  {source: `owner.none.deep`, failed: EvalError{NoSuchKey: true, Message: "no such key: none"}},
		"IntKey":         {source: `{1: 2}`, failed: EvalError{Message: "key of type int"}},
		"Type":           {source: `type(1)`, failed: EvalError{Message: "which no field can hold"}},
		"NotANumber":     {source: `0.0 / 0.0`, failed: EvalError{Message: "JSON cannot hold"}},
		"DivisionByZero": {source: `owner.spec.size / 0`, failed: EvalError{Message: "divi"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mustCompile(t, mustEnv(t, "owner"), tc.source).Eval(t.Context(), Activation{"owner": sample()})
			if tc.failed != (EvalError{}) {
				var failed *EvalError
				if !errors.As(err, &failed) || failed.NoSuchKey != tc.failed.NoSuchKey || failed.Budget != tc.failed.Budget || !strings.Contains(failed.Message, tc.failed.Message) {
					t.Errorf("gives %v, %+v, want an error like %+v", got, err, tc.failed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Absent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvalTyped(t *testing.T) {
	env, a := mustEnv(t, "owner"), Activation{"owner": sample()}
	if d, err := mustCompile(t, env, `duration('10m')`).EvalDuration(t.Context(), a); err != nil || d != 10*time.Minute {
		t.Errorf("duration is %v, %v", d, err)
	}
	if _, err := mustCompile(t, env, `duration('1s')`).EvalString(t.Context(), a); err == nil || err.Error() != "gives google.protobuf.Duration, want string" {
		t.Errorf("a duration as a string: %v", err)
	}
	if s, err := mustCompile(t, env, `owner.spec.name`).EvalString(t.Context(), a); err != nil || s != "n" {
		t.Errorf("string is %q, %v", s, err)
	}
	if _, err := mustCompile(t, env, `owner.none`).EvalDuration(t.Context(), a); !IsNoSuchKey(err) {
		t.Errorf("a field that is not there, as a duration: %v", err)
	}
	for source, want := range map[string]string{`1`: "gives int, want bool", `'x'`: "gives string, want bool", `owner`: "gives map, want bool"} {
		if _, err := mustCompile(t, env, source).EvalBool(t.Context(), a); err == nil || err.Error() != want {
			t.Errorf("%s as a bool: %v, want %q", source, err, want)
		}
	}
	if _, err := mustCompile(t, env, `1`).EvalString(t.Context(), a); err == nil {
		t.Error("a number passed for a string")
	}
}

func TestResultIsOwned(t *testing.T) {
	owner := sample()
	got, err := mustCompile(t, mustEnv(t, "owner"), `owner.spec`).Eval(t.Context(), Activation{"owner": owner})
	if err != nil {
		t.Fatal(err)
	}
	got.(map[string]any)["list"].([]any)[0].(map[string]any)["name"] = "changed"
	if diff := cmp.Diff(sample(), owner); diff != "" {
		t.Errorf("changing the result changed the input:\n%s", diff)
	}
}

func TestCompileIssues(t *testing.T) {
	cases := map[string]struct {
		source string
		want   []int // offsets
	}{
		"Undeclared":     {source: `owner.a + other.b`, want: []int{10}},
		"Two":            {source: `first + second`, want: []int{0, 8}},
		"AfterMultiByte": {source: `'äö' + nobody`, want: []int{9}},
		"SecondLine":     {source: "owner.a +\n  nobody", want: []int{12}},
		"Syntax":         {source: `owner.`, want: []int{6}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, issues := mustEnv(t, "owner").CompileExpr(tc.source)
			var got []int
			for _, issue := range issues {
				got = append(got, issue.Offset)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || x != nil {
				t.Errorf("offsets (-want +got):\n%s%v", diff, issues)
			}
		})
	}
}

func TestEqualityPredicates(t *testing.T) {
	cases := map[string]struct {
		source string
		want   []EqualityPredicate
	}{
		"One":       {source: `object.status.phase == 'Running'`, want: []EqualityPredicate{{Path: []string{"status", "phase"}, Value: "Running"}}},
		"Turned":    {source: `'a' == object.metadata.name`, want: []EqualityPredicate{{Path: []string{"metadata", "name"}, Value: "a"}}},
		"Label":     {source: `object.metadata.labels['a.b/c'] == 'd'`, want: []EqualityPredicate{{Path: []string{"metadata", "labels", "a.b/c"}, Value: "d"}}},
		"And":       {source: `object.a == 'x' && (object.b == 'y' && size(object.c) > 1)`, want: []EqualityPredicate{{Path: []string{"a"}, Value: "x"}, {Path: []string{"b"}, Value: "y"}}},
		"Or":        {source: `object.a == 'x' || object.b == 'y'`},
		"Not":       {source: `!(object.a == 'x')`},
		"NotEqual":  {source: `object.a != 'x'`},
		"Number":    {source: `object.a == 1`},
		"Other":     {source: `owner.a == 'x'`},
		"TwoFields": {source: `object.a == object.b`},
		"Optional":  {source: `object.?a == optional.of('x')`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := mustCompile(t, mustEnv(t, "object", "owner"), tc.source).EqualityPredicates("object")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func mustEnv(t testing.TB, variables ...string) *Env {
	t.Helper()
	env, err := NewEnv(variables...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func mustCompile(t testing.TB, env *Env, source string) *Expr {
	t.Helper()
	x, issues := env.CompileExpr(source)
	if len(issues) > 0 {
		t.Fatalf("compiling %s: %v", source, issues)
	}
	return x
}
