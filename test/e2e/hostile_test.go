package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// What the heap of Ambit, and of the test in the same process, may grow by: at most
// while ten workers evaluate, each within 64 MiB; and for good, which is the large
// Beasts and what became of them, in the caches.
const (
	hostileMostHeap = 10 * 64 << 20
	hostileKeptHeap = 192 << 20
)

// beastOf is a policy with a hostile expression, and its owner.
type beastOf struct {
	name, expression string
	program          *policy.Program // nil if it does not compile
}

// policies compiles each expression in each position; refused says how many do not
// compile, by position.
func (h *hostileWorld) policies() (list []beastOf, refused map[string]int) {
	h.t.Helper()
	refused = map[string]int{}
	for _, at := range hostilePositions() {
		for i, expression := range hostileExpressions(h.t) {
			owner, spec := at.in(expression)
			name := fmt.Sprintf("%s-%02d", at.name, i)
			program, err := h.beastPolicy(name, owner, spec)
			if err != nil {
				refused[at.name]++
				continue
			}
			list = append(list, beastOf{name: name, expression: expression, program: program})
		}
	}
	return list, refused
}

func programsOf(list []beastOf) []*policy.Program {
	programs := make([]*policy.Program, len(list))
	for i := range list {
		programs[i] = list[i].program
	}
	return programs
}

// TestHostile: 160 policies with expressions that ask for too much run beside one that
// does not. Each is refused, or stopped with a reason, or ends; Ambit lives and
// stays small, and serves the others. It measures the heap and so runs alone.
func TestHostile(t *testing.T) {
	h := newHostileWorld(t, "hostile")
	list, refused := h.policies()
	h.attack(3, programsOf(list)...)
	heap := sampleHeap()
	for _, of := range list {
		h.beast(of.name, of.name, hostileSpec(of.expression))
	}
	h.resize(h.good, "cache-0", 2) // while they are evaluated
	h.world.ready(h.good, "cache-0", 2)
	found := h.ended(h.leftAlone)
	peak, kept := heap.end()
	t.Logf("the heap grew by %d MiB at most, and by %d MiB for good", peak>>20, kept>>20)
	if peak > hostileMostHeap || kept > hostileKeptHeap {
		t.Errorf("the heap grew by more than %d MiB, or by more than %d MiB for good", hostileMostHeap>>20, hostileKeptHeap>>20)
	}
	h.outcomes(list, found, refused)
	h.unharmed(3)
}

// leftAlone are the Beasts whose filter failed, by Ambit's log.
func (h *hostileWorld) leftAlone() map[string]bool {
	alone := map[string]bool{}
	for line := range strings.Lines(string(h.l.lines(0))) {
		if !strings.Contains(line, "the owner filter failed") {
			continue
		}
		for i := range hostileEach {
			if name := fmt.Sprintf("filter-%02d", i); strings.Contains(line, `"`+name+`"`) {
				alone[name] = true
			}
		}
	}
	return alone
}

// outcomes checks how each Beast fares, and prints how many of each sort there are.
func (h *hostileWorld) outcomes(list []beastOf, found map[string]fares, refused map[string]int) {
	h.t.Helper()
	counts := map[string]map[string]int{}
	alone := h.leftAlone()
	for _, of := range list {
		how, position := found[of.name], strings.Split(of.name, "-")[0]
		if counts[position] == nil {
			counts[position] = map[string]int{"refused": refused[position]}
		}
		switch {
		case alone[of.name] && how == fares{}:
			counts[position]["left alone"]++
		case how.ready == "True":
			counts[position]["ended"]++
		default:
			counts[position][how.stalled]++
			if how.stalled != v1alpha1.ReasonLimitExceeded && how.stalled != v1alpha1.ReasonExpressionFailed {
				h.t.Errorf("%s: %+v\n%.200s", of.name, how, of.expression)
			}
		}
	}
	for _, position := range slices.Sorted(maps.Keys(counts)) {
		h.t.Logf("%s: %v", position, counts[position])
		if counts[position][v1alpha1.ReasonLimitExceeded]+counts[position]["left alone"] == 0 {
			h.t.Errorf("no expression was stopped as %s: the story is too tame", position)
		}
	}
}
