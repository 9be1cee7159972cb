package cel

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestBounds: what a small source can blow up ends at a limit, and before the
// memory is gone.
func TestBounds(t *testing.T) {
	ten := func(macro string) string { return strings.Repeat(macro, 6) }
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
			source: `[1,2,3,4,5,6,7,8,9,10].map(a, ` + strings.Repeat(`[1,2,3,4,5,6,7,8,9,10].map(b, `, 6) + `b` + strings.Repeat(`)`, 7)},
		"SharedList": {reason: "a list that holds another ten times, and so on", failed: "larger than",
			source: `[['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','b','c','d','e','f','g','h','i','j']]` + ten(`.map(x, [x,x,x,x,x,x,x,x,x,x])`)},
		"SharedMap": {reason: "a map that holds another ten times", failed: "larger than",
			source: `[{'a': 'b'}]` + ten(`.map(x, {'a':x,'b':x,'c':x,'d':x,'e':x,'f':x,'g':x,'h':x,'i':x,'j':x})`)},
		"Concatenation": {reason: "a list added to itself is not made before it is counted", failed: "memory limit",
			source: `[[1, 2, 3, 4]]` + strings.Repeat(`.map(x, x + x)`, 27)},
		"ConcatenationInside": {reason: "nor inside of a list", failed: "memory limit",
			source: `([[1, 2, 3, 4]]` + strings.Repeat(`.map(x, x + x)`, 27) + `) + [[5]]`},
		"Numbers": {reason: "numbers count as well", failed: "larger than", source: `list`},
		"String":  {reason: "a string that is doubled", failed: "", source: `['aaaaaaaaaaaaaaaa']` + strings.Repeat(`.map(x, x + x)`, 20)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := mustCompile(t, mustEnv(t, "list"), tc.source)
			before := allocated()
			_, err := x.Eval(t.Context(), Activation{"list": long})
			if used := allocated() - before; used > 200<<20 {
				t.Errorf("%s: took %d MiB", tc.reason, used>>20)
			}
			var failed *EvalError
			if !errors.As(err, &failed) || !failed.Budget || !strings.Contains(failed.Message, tc.failed) {
				t.Errorf("%s: gives %v", tc.reason, err)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := make([]any, 10_000)
	for i := range list {
		list[i] = int64(i)
	}
	_, err := mustCompile(t, mustEnv(t, "list"), `list.map(x, x + 1)`).Eval(ctx, Activation{"list": list})
	var failed *EvalError
	if !errors.As(err, &failed) || !failed.Budget {
		t.Errorf("an evaluation whose context has ended gives %v", err)
	}
}

func TestTextIsBounded(t *testing.T) {
	template := mustTemplate(t, strings.Repeat("${owner}", 20))
	_, err := template.Render(t.Context(), Activation{"owner": strings.Repeat("a", 100_000)})
	var failed *EvalError
	if !errors.As(err, &failed) || !failed.Budget {
		t.Errorf("text of 2 MB gives %v", err)
	}
}
