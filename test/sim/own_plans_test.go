package sim_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ambit-dev/ambit/test/sim/faultplan"
)

// ownPlans are plans of faults of a test that has a cluster, a policy and actions of its own, and not those of package faultplan.
type ownPlans struct {
	// name is the flag that has a single plan run, by its seed.
	name string
	// count plans are run, from the seed first on; if only is not 0, that one alone.
	count       int
	first, only uint64
	// play plays one in its bubble, and returns what did not hold.
	play func(t *testing.T, seed uint64) []faultplan.Violation
}

// run runs the plans up to the first in which something does not hold, as -stop says for TestPlans too. It returns how many there were.
func (p ownPlans) run(t *testing.T) int {
	t.Helper()
	var ran atomic.Int64
	defer tellProgress(&ran, time.Now())()
	if p.only > 0 {
		p.first, p.count = p.only, 1
	}
	for i := range uint64(p.count) {
		seed := p.first + i
		var found []faultplan.Violation
		synctest.Test(t, func(t *testing.T) { found = p.play(t, seed) })
		ran.Add(1)
		switch {
		case *planStop != "" && len(found) > 0 && stops(found):
			stop(t, ran.Load(), &faultplan.Plan{Seed: seed}, found)
			return int(ran.Load())
		case *planStop == "" && len(found) > 0:
			var b strings.Builder
			for _, v := range found {
				fmt.Fprintf(&b, "  %s\n", v)
			}
			t.Fatalf("after %d plans, in that of %s %d:\n%s", ran.Load(), p.name, seed, b.String())
		case t.Failed():
			t.Fatalf("after %d plans: it is that of %s %d", ran.Load(), p.name, seed)
		}
	}
	return int(ran.Load())
}

// violations collects what does not hold in a plan. The zero value is ready. It is safe for concurrent use.
type violations struct {
	mu   sync.Mutex
	list []faultplan.Violation
}

// violated notes that a promise does not hold.
func (v *violations) violated(invariant, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, faultplan.Violation{Invariant: invariant, Text: fmt.Sprintf(format, args...)})
}

// all are those so far.
func (v *violations) all() []faultplan.Violation {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.list
}
