package sandbox

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

var rewrite = flag.Bool("rewrite", false, "write the charges into testdata, for the diff to be reviewed")

// medium is an owner of a size that policies see: 100 elements, and 1,000 letters of text.
func medium() map[string]any {
	list, words, m := make([]any, 100), make([]any, 100), map[string]any{}
	for i := range list {
		list[i] = map[string]any{"name": fmt.Sprint("name-", i), "n": int64(i), "tags": []any{"a", fmt.Sprint(i)}}
		words[i] = fmt.Sprint("word-", 99-i)
		m[fmt.Sprint("key-", i)] = fmt.Sprint("value-", i)
	}
	return map[string]any{
		"text": strings.Repeat("text ", 200), "large": strings.Repeat("a", 100_000), "list": list, "words": words, "map": m,
		"nulls": map[string]any{"a": nil, "b": int64(1)}, "pattern": "^[a-z]+-[0-9]+$", "n": int64(7), "key": "key-7",
	}
}

// TestCharges: what an expression is charged, and at which limit it stops.
func TestCharges(t *testing.T) {
	const file = "testdata/charges.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		source, _, found := strings.Cut(block, "\n----\n")
		if strings.HasPrefix(block, "#") {
			fmt.Fprintf(&out, "%s\n\n", block)
			continue
		}
		if !found {
			source = block
		}
		fmt.Fprintf(&out, "%s\n----\n%s\n\n", source, charges(t, source))
	}
	got := strings.TrimSuffix(out.String(), "\n")
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: is now %q; run with -rewrite and look at the diff", file, i+1, line)
		}
	}
}

// charges evaluates an expression over medium, and describes what it was charged.
func charges(t *testing.T, source string) string {
	t.Helper()
	env, checked := check(t, source)
	p, err := planner()
	if err != nil {
		t.Fatal(err)
	}
	program, err := p.PlanMetered(env, checked)
	if err != nil {
		return "refused: " + err.Error()
	}
	e := &evaluation{Activation: variables{"owner": medium()}}
	value, err := program.runMetered(t.Context(), e)
	steps, bytes := e.meter.ChargedTotals()
	if limit := meter.LimitError(""); errors.As(err, &limit) {
		return err.Error()
	}
	if err != nil {
		return fmt.Sprintf("steps %d, bytes %d, fails: %.60s", steps, bytes, err.Error())
	}
	result, size, err := jsonvalue.ConvertValue(value)
	if err != nil {
		return fmt.Sprintf("steps %d, bytes %d, not converted: %.60s", steps, bytes, err.Error())
	}
	return fmt.Sprintf("steps %d, bytes %d, result %d: %.60s", steps, bytes, size, fmt.Sprint(result))
}
