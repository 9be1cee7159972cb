package sandbox

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/debug"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// TestStops: each limit has its message.
func TestStops(t *testing.T) {
	cases := map[string]struct{ source, failed string }{
		"Cost":     {source: `sets.contains(lists.range(3000), lists.range(3000))`, failed: "cost limit"},
		"Memory":   {source: `lists.range(10000000)`, failed: "memory limit"},
		"Replace":  {source: `['aaaaaaaaaaaaaaaa']` + strings.Repeat(`.map(x, x.replace('a', x))`, 5), failed: "cost limit"},
		"Quantity": {source: `quantity('1e2147483647').add(quantity('1'))`, failed: "cost limit"},
		"Regex":    {source: `[lists.range(900).map(i, 'a{1000}').join()].map(p, 'x'.matches(p))`, failed: "memory limit"},
		"Size":     {source: `lists.range(100000)+lists.range(100000)`, failed: "size limit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := evaluate(t.Context(), mustPlan(t, tc.source), nil)
			wantStopped(t, err, tc.failed)
		})
	}
}

// TestBounds: what a small source can blow up ends at a limit, and before the
// memory is gone.
func TestBounds(t *testing.T) {
	six := func(macro string) string { return strings.Repeat(macro, 6) }
	long := make([]any, 300_000)
	for i := range long {
		long[i] = 1.5
	}
	cases := map[string]struct {
		reason string
		source string
		failed string
	}{
		"Loops": {reason: "loops in loops", failed: " limit",
			source: `[1,2,3,4,5,6,7,8,9,10].map(a, ` + six(`[1,2,3,4,5,6,7,8,9,10].map(b, `) + `b` + strings.Repeat(`)`, 7)},
		"SharedList": {reason: "a list that holds another ten times, and so on", failed: "larger than",
			source: `[['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','b','c','d','e','f','g','h','i','j']]` + six(`.map(x, [x,x,x,x,x,x,x,x,x,x])`)},
		"SharedMap": {reason: "a map that holds another ten times", failed: "larger than",
			source: `[{'a': 'b'}]` + six(`.map(x, {'a':x,'b':x,'c':x,'d':x,'e':x,'f':x,'g':x,'h':x,'i':x,'j':x})`)},
		"Concatenation": {reason: "a list added to itself is not made before it is counted", failed: "memory limit",
			source: `[[1, 2, 3, 4]]` + strings.Repeat(`.map(x, x + x)`, 27)},
		"ConcatenationInside": {reason: "nor inside of a list", failed: "memory limit",
			source: `([[1, 2, 3, 4]]` + strings.Repeat(`.map(x, x + x)`, 27) + `) + [[5]]`},
		"Numbers": {reason: "numbers count as well", failed: "larger than", source: `owner`},
		"String":  {reason: "a string that is doubled", failed: "", source: `['aaaaaaaaaaaaaaaa']` + strings.Repeat(`.map(x, x + x)`, 20)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, tc.source)
			before := allocated()
			_, err := evaluate(t.Context(), p, long)
			if used := allocated() - before; used > 200<<20 {
				t.Errorf("%s: took %d MiB", tc.reason, used>>20)
			}
			wantStopped(t, err, tc.failed)
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the process ends"))
	list := make([]any, 10_000)
	for i := range list {
		list[i] = int64(i)
	}
	_, err := evaluate(ctx, mustPlan(t, `owner.map(x, x + 1)`), list)
	wantStopped(t, err, "stopped: the process ends")
}

// TestSortedMaps: what a loop over a map gives does not change from one time to
// the next.
func TestSortedMaps(t *testing.T) {
	owner := map[string]any{"c": int64(3), "a": int64(1), "b": int64(2), "d": int64(4)}
	for source, want := range map[string]string{
		`owner.map(k, k).join()`:                            "abcd",
		`owner.transformList(k, v, k + string(v)).join()`:   "a1b2c3d4",
		`owner.filter(k, owner[k] > 2).join()`:              "cd",
		`{3: 'x', 1: 'y', 2: 'z'}.map(k, string(k)).join()`: "123",
	} {
		for range 20 {
			if got, err := evaluate(t.Context(), mustPlan(t, source), owner); err != nil || got != want {
				t.Fatalf("%s gives %v, %v, want %s", source, got, err, want)
			}
		}
	}
}

// TestPanicsAreErrors: whatever is bound, cel-go and its functions end with an error.
func TestPanicsAreErrors(t *testing.T) {
	for _, source := range []string{
		`b'a' in [b'a', b'b'] && owner.size() == 1`, `owner[owner]`, `[?owner.?a]`, `owner[?owner]`, `owner in ['a', 'b']`, `{owner: 1}`, `owner.map(x, x)`,
	} {
		p := mustPlan(t, source)
		for _, value := range []any{nil, []byte("a"), map[string]any{}, []any{[]any{}}, struct{}{}, make(chan int), 1 << 40, float32(1)} {
			_, _ = evaluate(t.Context(), p, value)
		}
	}
}

// panicking is a node of a plan that panics.
type panicking struct{ interpreter.InterpretableV2 }

// Exec implements interpreter.InterpretableV2.
func (panicking) Exec(*interpreter.ExecutionFrame) ref.Val { panic("a mistake") }

func TestPanicsOfNodes(t *testing.T) {
	_, err := (&Program{metered: panicking{}}).EvaluateWith(t.Context(), variables{})
	if err == nil || err.Error() != "internal error: a mistake" {
		t.Errorf("gives %v", err)
	}
}

// TestDecorator: the caller says how fields are read, in both forms of a program.
func TestDecorator(t *testing.T) {
	sevens := func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if attribute, ok := i.(interpreter.InterpretableAttribute); ok {
			return interpreter.NewConstValue(attribute.ID(), types.Int(7)).(interpreter.InterpretableV2), nil
		}
		return i, nil
	}
	p, err := NewPlanner(baseEnv(), sevens)
	if err != nil {
		t.Fatal(err)
	}
	env, checked := check(t, `owner`)
	for name, plan := range map[string]func(*celgo.Env, *celgo.Ast) (*Program, error){"Cheap": p.PlanProgram, "Metered": p.PlanMetered} {
		program, err := plan(env, checked)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := program.EvaluateWith(t.Context(), variables{"owner": "x"}); got != types.Int(7) || err != nil {
			t.Errorf("%s gives %v, %v", name, got, err)
		}
	}
}

// TestPlanIsPure: planning leaves the checked expression as it is.
func TestPlanIsPure(t *testing.T) {
	env, checked := check(t, `owner.map(x, {x: owner[x]}).size() == 1 && [?owner.?a].size() == 1`)
	p, err := planner()
	if err != nil {
		t.Fatal(err)
	}
	before := debug.ToDebugString(checked.NativeRep().Expr())
	if _, err := p.PlanProgram(env, checked); err != nil {
		t.Fatal(err)
	}
	if after := debug.ToDebugString(checked.NativeRep().Expr()); after != before {
		t.Errorf("was\n%s\nand is now\n%s", before, after)
	}
}
