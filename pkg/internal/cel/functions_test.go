package cel

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// mustFunctions makes functions callable.
func mustFunctions(t *testing.T, list ...NamedFunction) *Functions {
	t.Helper()
	f, err := NewFunctions(list)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// mustCall compiles an expression over the owner that may call functions.
func mustCall(t *testing.T, source string, list ...NamedFunction) *Expr {
	t.Helper()
	env, err := mustFunctions(t, list...).NewEnv("owner")
	if err != nil {
		t.Fatal(err)
	}
	return mustCompile(t, env, source)
}

// TestNewFunctions: names that are taken, all at once.
func TestNewFunctions(t *testing.T) {
	f := func(s string) string { return s }
	_, err := NewFunctions([]NamedFunction{
		{"acme.f", f}, {"acme.map", f}, {"lists.f", f}, {"cel.f", f}, {"kubernetes.deep.f", f}, {"size.f", f}, {"acme.f", f}, {"acme.sortBy", nil},
	})
	want := `function "acme.map": "map" is a macro of CEL, as which a call would be read: give it another last word
function "lists.f": "lists" is for functions of CEL, Kubernetes and Ambit: begin with a word of your own, as in acme.f
function "cel.f": "cel" is for functions of CEL, Kubernetes and Ambit: begin with a word of your own, as in acme.f
function "kubernetes.deep.f": "kubernetes" is for functions of CEL, Kubernetes and Ambit: begin with a word of your own, as in acme.f
function "size.f": "size" is for functions of CEL, Kubernetes and Ambit: begin with a word of your own, as in acme.f
function "acme.f": it is there twice
function "acme.sortBy": "sortBy" is a macro of CEL, as which a call would be read: give it another last word
function "acme.sortBy": it must be given a function of Go that is not nil, is given <nil>`
	if err == nil || err.Error() != want {
		t.Errorf("gives\n%v, want\n%s", err, want)
	}
	if functions := mustFunctions(t, NamedFunction{"b.f", f}, NamedFunction{"acme.z.g", f}, NamedFunction{"acme.f", f}); fmt.Sprint(functions.Namespaces(), functions.Signatures()) !=
		"[acme b] map[acme.f:acme.f(string) -> string acme.z.g:acme.z.g(string) -> string b.f:b.f(string) -> string]" {
		t.Errorf("are %v, %v", functions.Namespaces(), functions.Signatures())
	}
	if none := (*Functions)(nil); len(none.Namespaces())+len(none.Signatures()) > 0 {
		t.Error("there are functions where there are none")
	}
}

// TestFunctionCalls: what is given to functions and comes of them, in expressions, and what is known of the fields
// that they read.
func TestFunctionCalls(t *testing.T) {
	list := []NamedFunction{
		{"acme.slug", func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "-")) }},
		{"acme.sum", func(numbers []int64) (sum int64) {
			for _, n := range numbers {
				sum += n
			}
			return sum
		}},
		{"acme.labels", func(in map[string]string, key, value string) map[string]string { in[key] = value; return in }},
		{"acme.nothing", func() any { return map[string]any{"a": nil, "b": 1} }},
		{"acme.zone", func(name string) (string, error) { return "", fmt.Errorf("there is no zone %q", name) }},
		{"acme.panic", func() string { panic("a mistake") }},
		{"acme.deep.twice", func(d time.Duration) time.Duration { return 2 * d }},
	}
	cases := map[string]struct{ source, want, failed string }{
		"Text":      {source: `acme.slug('A b') + '!'`, want: "a-b!"},
		"Field":     {source: `acme.slug(owner.spec.name)`, want: "n"},
		"List":      {source: `acme.sum(owner.spec.list.map(e, e.port)) + acme.sum([1, 2])`, want: "6"},
		"Loop":      {source: `owner.spec.words.map(acme, acme.slug(acme))`, want: "[b a]"},
		"Map":       {source: `acme.labels(owner.metadata.labels, 'a', 'b')`, want: "map[a:b app:x tier.io/b:y]"},
		"NullEntry": {source: `has(acme.nothing().a) || acme.nothing().?a.hasValue() ? 'there' : 'none'`, want: "none"},
		"Deep":      {source: `acme.deep.twice(duration('1m'))`, want: "2m0s"},
		"Error":     {source: `acme.zone(owner.spec.name)`, failed: "acme.zone: there is no zone (a value)"},
		"Panic":     {source: `acme.panic()`, failed: "acme.panic: panics at functions_test.go:"},
		"Absorbed":  {source: `acme.panic() == 'a' || true`, want: "true"},
		"WrongType": {source: `acme.slug(owner.spec.size)`, failed: "acme.slug: argument 1 must be string, is int"},
	}
	a := Activation{"owner": sample()}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mustCall(t, tc.source, list...).Eval(t.Context(), a)
			if tc.failed != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.failed) || IsBudget(err) || IsNoSuchKey(err) {
					t.Errorf("gives %v, %v, want %s", got, err, tc.failed)
				}
				return
			}
			if err != nil || fmt.Sprint(got) != tc.want {
				t.Errorf("gives %v, %v, want %s", got, err, tc.want)
			}
		})
	}
	if labels := fmt.Sprint(sample()["metadata"]); fmt.Sprint(a["owner"].(map[string]any)["metadata"]) != labels {
		t.Errorf("a function has changed the owner: %v", a["owner"])
	}
	if reads := mustCall(t, `acme.slug(owner.spec.name)`, list...).FieldsRead()["owner"].String(); reads != "{spec{name!}}" {
		t.Errorf("reads %s", reads)
	}
}

// TestFunctionBounds: calls are charged for what they are given, what they give, how many they are and how long they take. Time is
// that of a bubble, in which only acme.slow takes any.
func TestFunctionBounds(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	calls := 0
	list := []NamedFunction{
		{"acme.one", func(n int64) int64 { calls++; return n }},
		{"acme.given", func(any) int64 { calls++; return 1 }},
		{"acme.long", func(int64) []string { calls++; return []string{long} }},
		{"acme.slow", func(n int64) int64 { calls++; time.Sleep(meter.TimeLimit / 4); return n }},
	}
	cases := map[string]struct {
		reason, source, failed string
		most                   int // how many calls there are until it ends
	}{
		"Within":    {reason: "a thousand calls are allowed", source: `lists.range(1000).map(i, acme.one(i)).size()`, most: 1000},
		"Calls":     {reason: "each call costs", source: `lists.range(20000).map(i, acme.one(i)).size()`, most: 15_000, failed: "stopped at the cost limit"},
		"Arguments": {reason: "going through arguments costs", source: `lists.range(1000).map(i, acme.given(owner)).size()`, most: 100, failed: "stopped at the cost limit"},
		"Results":   {reason: "all of a result takes memory", source: `lists.range(1000).map(i, acme.long(i)).size()`, most: 32, failed: "stopped at the memory limit"},
		"Slow":      {reason: "and its time counts", source: `lists.range(1000).map(i, acme.slow(i)).size()`, most: 5, failed: "stopped at the time limit"},
		"Cheap":     {reason: "an expression that is short otherwise has the limits, too", source: `acme.slow(1) + acme.slow(2) + acme.slow(3) + acme.slow(4) + acme.slow(5) + acme.slow(6)`, most: 5, failed: "stopped at the time limit"},
	}
	numbers := make([]any, 10_000)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := mustCall(t, tc.source, list...)
			calls = 0
			var err error
			synctest.Test(t, func(t *testing.T) { _, err = x.Eval(t.Context(), Activation{"owner": numbers}) })
			if calls > tc.most || calls < tc.most/4 {
				t.Errorf("%s: %d calls, want up to %d", tc.reason, calls, tc.most)
			}
			if failed := (*EvalError)(nil); tc.failed == "" && err != nil || tc.failed != "" && (!errors.As(err, &failed) || !failed.Budget || !strings.HasPrefix(failed.Message, tc.failed)) {
				t.Errorf("%s: gives %v, want %q", tc.reason, err, tc.failed)
			}
		})
	}
	_, err := mustCall(t, `acme.given(owner) == 1 || true`, list...).Eval(t.Context(), Activation{"owner": []any{long, long}})
	if !IsBudget(err) || err.Error() != "stopped at the size limit: argument 1 of acme.given is larger than 1.5 MiB" {
		t.Errorf("an argument that is too large gives %v", err)
	}
}

// TestFunctionsConcurrently is for the race detector.
func TestFunctionsConcurrently(t *testing.T) {
	functions := mustFunctions(t, NamedFunction{"acme.labels", func(in map[string]string) map[string]string { in["a"] = "b"; return in }})
	a := Activation{"owner": sample()}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			env, err := functions.NewEnv("owner")
			if err != nil {
				t.Error(err)
				return
			}
			x, issues := env.CompileExpr(`acme.labels(owner.metadata.labels)`)
			for range 50 {
				if got, err := x.Eval(t.Context(), a); err != nil || len(issues) > 0 || len(got.(map[string]any)) != 3 {
					t.Errorf("gives %v, %v, %v", got, err, issues)
				}
			}
		})
	}
	group.Wait()
}
