package cel

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
	_ "github.com/ambit-dev/ambit/test/draws/fewer"
)

// TestProjectionChangesNoResult: an expression cannot tell the fields that it
// reads from the whole object. The expressions are those of the table.
func TestProjectionChangesNoResult(t *testing.T) {
	env := mustEnv(t, "owner")
	compiled := make([]*Expr, 0, len(corpus))
	for _, source := range sortedKeys(corpus) {
		compiled = append(compiled, mustCompile(t, env, source))
	}
	for _, x := range compiled {
		checkProjection(t, x, sample())
	}
	rapid.Check(t, func(t *rapid.T) {
		owner := sample()
		mutate(t, owner)
		checkProjection(t, rapid.SampledFrom(compiled).Draw(t, "expression"), owner)
	})
}

// TestProjectionOfGenerated is the same for expressions that are made up.
func TestProjectionOfGenerated(t *testing.T) {
	env := mustEnv(t, "owner")
	made, compiled := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		made++
		source := generator{t: t}.value(3, []string{"owner"})
		x, issues := env.CompileExpr(source)
		if len(issues) > 0 {
			return // types do not fit
		}
		compiled++
		owner := sample()
		for range 4 {
			checkProjection(t, x, owner)
			mutate(t, owner)
		}
	})
	if compiled < made/8 {
		t.Errorf("only %d of %d generated expressions compile", compiled, made)
	}
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// checkProjection compares results. One that depends on the order of a map is
// fine if any of several evaluations of the whole gives what the part gave.
func checkProjection(t failer, x *Expr, owner map[string]any) {
	t.Helper()
	part := outcome(x, x.FieldsRead()["owner"].ProjectObject(owner))
	var diff string
	for range 50 {
		if diff = cmp.Diff(outcome(x, owner), part); diff == "" {
			return
		}
	}
	t.Fatalf("%s\nreads %v of %v (-whole +part):\n%s", x.Source(), x.FieldsRead()["owner"], owner, diff)
}

func outcome(x *Expr, owner map[string]any) any {
	value, err := x.program.EvaluateWith(context.Background(), Activation{"owner": owner})
	if err != nil {
		return err.Error()
	}
	result, err := sandbox.ConvertValue(context.Background(), value)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(result)
}

// mutate takes fields away, adds some, or changes their type.
func mutate(t *rapid.T, m map[string]any) {
	for _, key := range sortedKeys(m) {
		switch rapid.IntRange(0, 12).Draw(t, key) {
		case 0:
			delete(m, key)
		case 1:
			m[key] = rapid.SampledFrom([]any{"text", int64(7), nil, true, []any{}, map[string]any{}, []any{"x"}, map[string]any{"name": "z"}}).Draw(t, "value")
		case 2:
			m[key+"2"] = "extra"
		}
		switch v := m[key].(type) {
		case map[string]any:
			mutate(t, v)
		case []any:
			for _, element := range v {
				if below, ok := element.(map[string]any); ok {
					mutate(t, below)
				}
			}
		}
	}
}

// generator makes expressions over the given variables, which denote places.
type generator struct{ t *rapid.T }

func (g generator) pick(of ...string) string { return rapid.SampledFrom(of).Draw(g.t, "pick") }

func (g generator) name() string {
	return g.pick("spec", "spec", "metadata", "labels", "size", "name", "list", "list", "map", "port", "words", "v", "none", "k")
}

func (g generator) place(depth int, vars []string) string {
	if depth <= 0 {
		return g.pick(vars...) + g.pick("", ".spec", ".spec.list", ".spec.map", ".spec.words", ".metadata.labels")
	}
	of := g.place(depth-1, vars)
	v := fmt.Sprintf("v%d", depth)
	switch rapid.IntRange(0, 12).Draw(g.t, "place") {
	case 0, 1, 2:
		return of + "." + g.name()
	case 3, 4:
		return of + ".?" + g.name()
	case 5:
		return fmt.Sprintf("%s['%s']", of, g.name())
	case 6:
		return of + g.pick("[0]", "[?0]", "[1]")
	case 7, 8:
		return fmt.Sprintf("%s.filter(%s, %s)", of, v, g.condition(depth-1, append(slices.Clip(vars), v)))
	case 9:
		return of + g.pick(".orValue([])", ".orValue({})", ".value()", ".reverse()", ".slice(0, 1)", ".first()", ".last()")
	case 10:
		return fmt.Sprintf("%s.optMap(%s, %s)", of, v, g.value(depth-1, append(slices.Clip(vars), v)))
	case 11:
		return fmt.Sprintf("%s.sortBy(%s, %s)", of, v, g.value(depth-1, append(slices.Clip(vars), v)))
	}
	return fmt.Sprintf("dyn(%s)", of)
}

func (g generator) condition(depth int, vars []string) string {
	if depth < 0 {
		return g.pick("true", "false")
	}
	of := g.place(depth, vars)
	v := fmt.Sprintf("c%d", depth)
	switch rapid.IntRange(0, 7).Draw(g.t, "condition") {
	case 0:
		return fmt.Sprintf("has(%s.%s)", of, g.name())
	case 1:
		return fmt.Sprintf("size(%s) > 1", of)
	case 2:
		return of + ".hasValue()"
	case 3:
		return fmt.Sprintf("%s == %s", of, g.pick("'one'", "1", "null", "[]", "{}"))
	case 4:
		return fmt.Sprintf("'%s' in %s", g.name(), of)
	case 5:
		return fmt.Sprintf("%s.%s(%s, %s)", of, g.pick("all", "exists", "exists_one"), v, g.condition(depth-1, append(slices.Clip(vars), v)))
	case 6:
		w := "w" + v
		return fmt.Sprintf("%s.%s(%s, %s, %s)", of, g.pick("all", "exists"), v, w, g.condition(depth-1, append(slices.Clip(vars), g.pick(v, w))))
	}
	return g.pick("true", "false")
}

func (g generator) value(depth int, vars []string) string {
	of := g.place(depth, vars)
	if depth < 0 {
		return of
	}
	v := fmt.Sprintf("m%d", depth)
	switch rapid.IntRange(0, 7).Draw(g.t, "value") {
	case 0:
		return g.condition(depth, vars)
	case 1:
		return of + ".size()"
	case 2, 3:
		return fmt.Sprintf("%s.map(%s, %s)", of, v, g.value(depth-1, append(slices.Clip(vars), v)))
	case 4:
		return fmt.Sprintf("[%s, %s]", of, g.value(depth-1, vars))
	case 5:
		return fmt.Sprintf("(%s ? %s : %s)", g.condition(depth-1, vars), of, g.value(depth-1, vars))
	}
	return of
}
