package cel

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/cel-go/interpreter"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestIsSimple(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   bool
	}{
		"Field":    {reason: "reading a field is", source: `owner.spec.size`, want: true},
		"Filter":   {reason: "so are comparisons of a few", source: `owner.a == 'x' && (owner.b > 1 || !has(owner.c))`, want: true},
		"Optional": {reason: "and optionals", source: `owner.?a[?'b'].orValue({'c': 1}).c`, want: true},
		"Macro":    {reason: "a macro runs many times", source: `owner.list.all(e, true)`},
		"Add":      {reason: "text gets longer", source: `owner.a + owner.b`},
		"Regex":    {reason: "an expensive function", source: `owner.a.matches('x')`},
		"Long":     {reason: "many comparisons, of which each may be of all", source: strings.Repeat(`owner == owner && `, 50) + `true`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mustCompile(t, mustEnv(t, "owner"), tc.source).program.simple != nil; got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

// TestSimpleIsTheSame: a simple expression gives the same with bounds and without.
func TestSimpleIsTheSame(t *testing.T) {
	env := mustEnv(t, "owner")
	type twin struct{ simple, bounded *Expr }
	var twins []twin
	for _, source := range sortedKeys(corpus) {
		simple := mustCompile(t, env, source)
		if simple.program.simple == nil {
			continue
		}
		bounded := *simple
		bounded.program = program{bounded: boundedPlan(t, env, source)}
		twins = append(twins, twin{simple, &bounded})
	}
	rapid.Check(t, func(t *rapid.T) {
		owner := sample()
		mutate(t, owner)
		for _, x := range twins {
			if diff := cmp.Diff(outcome(x.bounded, owner), outcome(x.simple, owner)); diff != "" {
				t.Fatalf("%s over %v (-with +without bounds):\n%s", x.simple.Source(), owner, diff)
			}
		}
	})
	if len(twins) < 20 {
		t.Errorf("only %d expressions of the table are simple", len(twins))
	}
}

func boundedPlan(t *testing.T, env *Env, source string) interpreter.InterpretableV2 {
	t.Helper()
	parsed, _ := env.env.Parse(source)
	loosen(parsed.NativeRep())
	checked, _ := env.env.Check(parsed)
	plan, err := env.plan(checked)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	x, template := mustCompile(t, mustEnv(t, "owner"), `owner.spec.list.map(e, e.name)`), mustTemplate(t, deployment())
	a := Activation{"owner": sample()}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				_, err := x.Eval(t.Context(), a)
				_, failed := template.Render(t.Context(), a)
				if err != nil || failed != nil {
					t.Error(err, failed)
				}
			}
		})
	}
	group.Wait()
}
