//go:build !race

package cel

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"
)

// allowedTime is how much of a processor an evaluation may take: four times of what the longest ones do, as others
// may use the machine.
const allowedTime = 400 * time.Millisecond

// positions are the places of a policy in which an expression may stand.
func positions() map[string]func(t testing.TB, source string) func(a Activation) error {
	leaf := func(format string) func(t testing.TB, source string) func(a Activation) error {
		return func(t testing.TB, source string) func(a Activation) error {
			template, issues := mustEnv(t, "owner", "object").CompileTemplate(map[string]any{"spec": []any{fmt.Sprintf(format, source)}})
			if issues != nil {
				return nil
			}
			return func(a Activation) error { _, err := template.Render(t.Context(), a); return err }
		}
	}
	condition := func(variable string) func(t testing.TB, source string) func(a Activation) error {
		return func(t testing.TB, source string) func(a Activation) error {
			source = strings.ReplaceAll(source, "owner", variable)
			x, issues := mustEnv(t, variable).CompileExpr("[dyn(" + source + ")].size() == 1")
			if issues != nil {
				return nil
			}
			return func(a Activation) error { _, err := x.EvalBool(t.Context(), a); return err }
		}
	}
	return map[string]func(t testing.TB, source string) func(a Activation) error{
		"filter": condition("object"), "condition": condition("owner"), "template": leaf("${%s}"), "status": leaf("text ${%s}"),
	}
}

// TestHostile: in every position, each expression ends in time and in memory. The race detector makes
// of both many times as much, so that the test is not there with it.
func TestHostile(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // how far the heap grows depends on it
	owners := map[string]any{"small": sample(), "huge": huge()}
	refused, stopped := 0, 0
	var longest time.Duration
	var largest int64
	for _, source := range hostile(t) {
		for position, compile := range positions() {
			run := compile(t, source)
			if run == nil {
				refused++
				continue
			}
			for name, owner := range owners {
				if name == "huge" && !strings.Contains(source, "owner") {
					continue
				}
				a := Activation{"owner": owner, "object": owner}
				took, grown, err := measure(func() error { return run(a) })
				for range 2 { // somebody else may use the machine
					if took > allowedTime {
						took, _, _ = measure(func() error { return run(a) })
					}
				}
				longest, largest = max(longest, took), max(largest, grown)
				var failed *EvalError
				if errors.As(err, &failed) && failed.Budget {
					stopped++
				}
				if took > allowedTime || grown > 64<<20 || err != nil && len(err.Error()) > 2*maxMessage || strings.Contains(fmt.Sprint(err), "internal error") {
					t.Errorf("%s, %s owner: %.120s\ntook %v of CPU, %d MiB: %.200v", position, name, source, took, grown>>20, err)
				}
			}
		}
	}
	t.Logf("refused at compile %d, stopped %d, the longest took %v, the largest %d MiB", refused, stopped, longest, largest>>20)
}

// measure returns the time that this thread used, and how far the heap grew.
func measure(f func() error) (took time.Duration, grown int64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	before, done, peak := heap(), make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		highest := int64(0)
		for {
			select {
			case <-tick.C:
				highest = max(highest, heap())
			case <-done:
				peak <- max(highest, heap())
				return
			}
		}
	}()
	start := threadTime()
	err = f()
	took = threadTime() - start
	close(done)
	return took, <-peak - before, err
}

func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thisThread, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
