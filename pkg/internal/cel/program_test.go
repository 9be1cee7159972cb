package cel

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestCheapIsTheSame: a cheap expression gives the same with bounds and without.
func TestCheapIsTheSame(t *testing.T) {
	env := mustEnv(t, "owner")
	type twin struct{ planned, metered *Expr }
	var twins []twin
	for _, source := range sortedKeys(corpus) {
		planned := mustCompile(t, env, source)
		metered := *planned
		metered.program = meteredProgram(t, env, source)
		twins = append(twins, twin{planned, &metered})
	}
	rapid.Check(t, func(t *rapid.T) {
		owner := sample()
		mutate(t, owner)
		for _, x := range twins {
			if diff := cmp.Diff(outcome(x.metered, owner), outcome(x.planned, owner)); diff != "" {
				t.Fatalf("%s over %v (-with +without bounds):\n%s", x.planned.Source(), owner, diff)
			}
		}
	})
}

// meteredProgram is what an expression runs if it is not taken for cheap.
func meteredProgram(t *testing.T, env *Env, source string) program {
	t.Helper()
	checked, issues := env.checkTypes(source)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	metered, err := env.planner.PlanMetered(env.env, checked)
	if err != nil {
		t.Fatal(err)
	}
	return metered
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
