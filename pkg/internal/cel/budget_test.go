package cel

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func wantStopped(t *testing.T, err error, text string) {
	t.Helper()
	var failed *EvalError
	if !errors.As(err, &failed) || !failed.Budget || !strings.Contains(failed.Message, text) {
		t.Errorf("gives %v, want a stop with %q", err, text)
	}
}

// until evaluates under a budget until it fails, a number of times at most.
func until(ctx context.Context, x *Expr, a Activation, times int) (int, error) {
	for i := range times {
		if _, err := x.Eval(ctx, a); err != nil {
			return i, err
		}
	}
	return times, nil
}

func TestBudget(t *testing.T) {
	env, a := mustEnv(t, "owner"), Activation{"owner": map[string]any{"text": strings.Repeat("a", 1<<20)}}
	text, loop := mustCompile(t, env, `owner.text`), mustCompile(t, env, `lists.range(1000).map(i, i * i).size()`)

	done, err := until(WithBudget(t.Context(), NewBudget(0, 10<<20)), text, a, 100)
	if wantStopped(t, err, "results are larger than 10 MiB"); done < 8 || done > 10 {
		t.Errorf("a budget of 10 MiB is good for %d results of 1 MiB", done)
	}
	// Two slices of time fit, which a pause of the process may use up in each of two loops.
	done, err = until(WithBudget(t.Context(), NewBudget(50*time.Millisecond, 0)), loop, a, 10_000)
	if wantStopped(t, err, "take longer than 50ms"); done < 2 {
		t.Errorf("a budget of 50 ms is good for %d loops", done)
	}
	if done, err = until(t.Context(), loop, a, 1000); err != nil {
		t.Errorf("without a budget: %d, %v", done, err)
	}
	if _, err := until(WithBudget(t.Context(), NewBudget(0, 0)), text, a, 100); err != nil {
		t.Errorf("the default is smaller than 100 results of 1 MiB: %v", err)
	}
}

// TestBudgetIsShared is for the race detector, too.
func TestBudgetIsShared(t *testing.T) {
	x := mustCompile(t, mustEnv(t, "owner"), `owner`)
	a := Activation{"owner": strings.Repeat("a", 1<<20)}
	ctx := WithBudget(t.Context(), NewBudget(0, 20<<20))
	var all sync.WaitGroup
	counts := make([]int, 4)
	for i := range counts {
		all.Go(func() { counts[i], _ = until(ctx, x, a, 20) })
	}
	all.Wait()
	if sum := counts[0] + counts[1] + counts[2] + counts[3]; sum < 18 || sum > 20 {
		t.Errorf("20 MiB are good for %d results of 1 MiB: %v", sum, counts)
	}
}

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
			_, err := mustCompile(t, mustEnv(t), tc.source).Eval(t.Context(), nil)
			wantStopped(t, err, tc.failed)
		})
	}
}

// TestTime: time that is up stops an evaluation at its next look.
func TestTime(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	m := &meter{ctx: t.Context(), timer: ended, used: timeSlices - 1}
	defer func() {
		if r := recover(); r != errTime {
			t.Errorf("the last slice of time is over: %v", r)
		}
	}()
	m.step(lookEvery)
}

// TestNotStopped: what a policy may well do, with the large owner.
func TestNotStopped(t *testing.T) {
	a := Activation{"owner": huge()}
	for _, source := range []string{
		`owner.spec.list.filter(x, x.n % 2 == 0).map(x, x.name).size()`,
		`owner.spec.list.map(x, x.name).join(',').size()`,
		`owner.spec.list.exists(x, x.name == 'name-9999')`,
		`owner.spec.list.map(x, {'name': x.name, 'port': x.n})`,
		`owner.spec.list.sortBy(x, x.name)[0].name`,
		`owner.spec.map.transformList(k, v, k + '=' + v).join('\n').size()`,
		`owner.spec.text.split(' ').size()`,
		`owner.spec.text.replace('text', 'word').size()`,
		`owner.spec.list == owner.spec.list`,
		`owner.spec.map.transformMap(k, v, v + 'x')`,
		`owner.spec.list.transformMapEntry(i, x, {x.name: x.n}).size()`,
		`owner.spec.list.slice(0, 1000).map(x, x.name).distinct().sort().join(',').upperAscii().size()`,
		`owner.spec.list.map(x, x.tags).flatten().size()`,
		`owner.spec.list.map(x, '%s-%d'.format([x.name, x.n])).size()`,
		`owner.spec.list.all(x, x.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))`,
		`owner.spec.list.map(x, quantity('1Gi')).size()`,
		`owner.spec.text.contains('word') || owner.spec.text.startsWith('text')`,
	} {
		_, err := mustCompile(t, mustEnv(t, "owner"), source).Eval(t.Context(), a)
		if err != nil && err.Error() != string(errTime) { // others may use the machine
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestSortedMaps: what a loop over a map gives does not change from one time to
// the next.
func TestSortedMaps(t *testing.T) {
	env := mustEnv(t, "owner")
	a := Activation{"owner": map[string]any{"c": int64(3), "a": int64(1), "b": int64(2), "d": int64(4)}}
	for source, want := range map[string]string{
		`owner.map(k, k).join()`:                            "abcd",
		`owner.transformList(k, v, k + string(v)).join()`:   "a1b2c3d4",
		`owner.filter(k, owner[k] > 2).join()`:              "cd",
		`{3: 'x', 1: 'y', 2: 'z'}.map(k, string(k)).join()`: "123",
	} {
		for range 20 {
			if got, err := mustCompile(t, env, source).Eval(t.Context(), a); err != nil || got != want {
				t.Fatalf("%s gives %v, %v, want %s", source, got, err, want)
			}
		}
	}
}

// TestPanicsAreErrors: what cel-go or a function in it cannot handle.
func TestPanicsAreErrors(t *testing.T) {
	env := mustEnv(t, "owner")
	for _, source := range []string{`{b'a': 1}`, `b'a' in [b'a', b'b'] && {dyn(b'a'): 1}.size() == 1`, `[?owner]`, `owner[?owner]`, `owner in ['a', 'b']`} {
		x, issues := env.Compile(source)
		if len(issues) > 0 {
			if issues[0].Message == "" || x != nil {
				t.Errorf("%s: %v", source, issues)
			}
			continue
		}
		for _, value := range []any{nil, []byte("a"), map[string]any{}, []any{[]any{}}, struct{}{}, make(chan int), 1 << 40, float32(1)} {
			_, _ = x.Eval(t.Context(), Activation{"owner": value})
			_, _ = x.EvalBool(t.Context(), Activation{"owner": value})
		}
	}
}

// TestCountSteps: the steps of all evaluations come together, also of one that was
// stopped; without a budget nobody counts.
func TestCountSteps(t *testing.T) {
	env, a := mustEnv(t, "owner"), Activation{"owner": map[string]any{}}
	loop := mustCompile(t, env, `lists.range(1000).map(i, i * i).size()`)
	endless := mustCompile(t, env, `lists.range(3000).map(i, lists.range(3000).map(j, i * j)).size()`)
	var total atomic.Int64
	ctx := CountSteps(t.Context(), &total)
	if _, err := loop.Eval(ctx, a); err != nil || total.Load() != 0 {
		t.Errorf("without a budget: %d steps, %v", total.Load(), err)
	}
	ctx = WithBudget(ctx, NewBudget(0, 0))
	if _, err := loop.Eval(ctx, a); err != nil || total.Load() < 1000 {
		t.Errorf("a loop of 1000 rounds: %d steps, %v", total.Load(), err)
	}
	once := total.Load()
	if _, err := loop.Eval(ctx, a); err != nil || total.Load() != 2*once {
		t.Errorf("the second time: %d steps after %d, %v", total.Load(), once, err)
	}
	if _, err := endless.Eval(ctx, a); err == nil || total.Load() < 2*once+10_000 {
		t.Errorf("an evaluation that is stopped: %d steps, %v", total.Load(), err)
	}
}
