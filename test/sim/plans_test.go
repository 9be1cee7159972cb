package sim_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim/faultplan"
)

var (
	planSeed  = flag.Uint64("seed", 0, "run the plan of this seed alone, and print it")
	planCount = flag.Int("plans", raced.Few(150, 1000), "how many plans TestPlans runs")
	planFirst = flag.Uint64("first", 1, "the seed of the first plan")
	planTime  = flag.Duration("soak", 0, "run plans for this long, and at least as many as -plans says")
	planOnly  = flag.String("scenario", "all", "run plans of these scenarios, separated by commas; all: of all")
	planShow  = flag.Bool("requests", false, "with -seed: print each request and change of the plan")
	planFind  = flag.String("find", "", "run nothing, and print the seeds of plans whose text has this")
	planStop  = flag.String("stop", "", "end with the first plan in which one of these promises does not hold, separated by commas; any: whichever. It is not shrunk, and others do not count")
)

// TestPlans runs plans of faults, each from a seed. One that fails is shrunk, and printed
// with what did not hold:
//
//	go test ./test/sim -run TestPlans -seed 4711
func TestPlans(t *testing.T) {
	scenarios, err := faultplan.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	if *planOnly != "all" {
		scenarios = only(t, scenarios, strings.Split(*planOnly, ","))
	}
	if *planSeed != 0 {
		report(t, faultplan.Generate(scenarios, *planSeed))
		return
	}
	if *planFind != "" {
		findPlans(t, scenarios)
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(rareGC))
	defer withoutSamples()()
	began := time.Now()
	var ran, failed atomic.Int64
	defer tellProgress(&ran, began)()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				n := ran.Add(1)
				if n > int64(*planCount) && time.Since(began) >= *planTime || failed.Load() >= maxFailed {
					ran.Add(-1)
					return
				}
				plan := faultplan.Generate(scenarios, *planFirst+uint64(n)-1)
				violations := run(t, plan)
				switch {
				case len(violations) == 0:
				case *planStop != "":
					if stops(violations) && failed.Swap(maxFailed) == 0 {
						stop(t, n, plan, violations)
					}
				default:
					failed.Add(1)
					explain(t, plan, violations)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d plans in %s: %d failed", ran.Load(), time.Since(began).Round(time.Millisecond), failed.Load())
}

// findPlans logs the first seeds of the plans whose text has what is looked for, and how many there are.
func findPlans(t *testing.T, scenarios []*faultplan.Scenario) {
	const shown = 10
	var found []uint64
	for i := range *planCount {
		seed := *planFirst + uint64(i)
		if strings.Contains(faultplan.Generate(scenarios, seed).String(), *planFind) {
			found = append(found, seed)
		}
	}
	t.Logf("%d of %d plans have %q: %v", len(found), *planCount, *planFind, found[:min(shown, len(found))])
}

// withoutSamples has nobody note where memory is taken, unless -memprofile asks for it, until the
// function that it returns is called: each sample reads a whole stack.
func withoutSamples() (again func()) {
	rate := runtime.MemProfileRate
	if f := flag.Lookup("test.memprofile"); f == nil || f.Value.String() == "" {
		runtime.MemProfileRate = 0
	}
	return func() { runtime.MemProfileRate = rate }
}

// tellProgress says now and then how far a long run is, until the function that it
// returns is called.
func tellProgress(ran *atomic.Int64, began time.Time) (stop func()) {
	ticker := time.NewTicker(progressEvery)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(os.Stderr, "%d plans in %s\n", ran.Load(), time.Since(began).Round(time.Second))
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done) }
}

// rareGC trades memory, of which plans need little, for a third of the time.
const rareGC = 800

const progressEvery = 30 * time.Second

// maxFailed plans are enough to look at.
const maxFailed = 5

// only returns the scenarios of these names.
func only(t *testing.T, scenarios []*faultplan.Scenario, names []string) (found []*faultplan.Scenario) {
	for _, name := range names {
		i := slices.IndexFunc(scenarios, func(s *faultplan.Scenario) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("there is no scenario %q", name)
		}
		found = append(found, scenarios[i])
	}
	return found
}

// run runs a plan. What ends its bubble counts as well.
func run(t *testing.T, p *faultplan.Plan) (violations []faultplan.Violation) {
	defer func() {
		if r := recover(); r != nil {
			violations = append(violations, faultplan.Violation{Invariant: "no goroutine is left", Text: fmt.Sprint(r)})
		}
	}()
	defer time.AfterFunc(tooLong, func() {
		panic(fmt.Sprintf("after %s this plan still runs: something happens again and again, and no time passes\n%s", tooLong, p))
	}).Stop()
	return faultplan.Run(t, p)
}

// tooLong is for a plan that takes a few hundredths of a second.
const tooLong = 3 * time.Minute

// report runs one plan and prints it, shrunk if it fails: on one processor, so that
// goroutines take turns alike each time.
func report(t *testing.T, p *faultplan.Plan) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	fmt.Fprint(os.Stderr, p)
	if *planShow {
		p.Trace = os.Stderr
	}
	violations := run(t, p)
	p.Trace = nil
	switch {
	case len(violations) == 0:
	case *planStop == "":
		explain(t, p, violations)
	case stops(violations):
		stop(t, 1, p, violations)
	}
}

// stops says whether a promise that -stop names does not hold.
func stops(violations []faultplan.Violation) bool {
	names := strings.Split(*planStop, ",")
	return *planStop == "any" || slices.ContainsFunc(violations, func(v faultplan.Violation) bool { return slices.Contains(names, v.Invariant) })
}

// stop says, on one line that command bugs reads, which plan was the first to fail, and all
// that did not hold in it.
func stop(t *testing.T, n int64, p *faultplan.Plan, violations []faultplan.Violation) {
	var names []string
	for _, v := range violations {
		if !slices.Contains(names, v.Invariant) {
			names = append(names, v.Invariant)
		}
	}
	fmt.Printf("caught after %d plans: seed %d: %s\n", n, p.Seed, strings.Join(names, " | "))
	t.Fail()
}

// explain shrinks a plan that fails, and says what did not hold.
func explain(t *testing.T, p *faultplan.Plan, violations []faultplan.Violation) {
	first := violations[0].Invariant
	shrunk := faultplan.Shrink(p, func(p *faultplan.Plan) bool {
		again := run(t, p)
		return len(again) > 0 && again[0].Invariant == first
	})
	var b strings.Builder
	for _, v := range violations {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	t.Errorf("%s  shrunk to %d of %d steps:\n%v%s", p, len(shrunk.Steps), len(p.Steps), shrunk, b.String())
}
