package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestVersions: who is released when, as text: each step and what it gives back. A policy
// is a letter and a version of it a number, so a1 is the first of policy a.
func TestVersions(t *testing.T) {
	cases := map[string]struct {
		reason string
		steps  []string // "STEP: released"
	}{
		"Unworked": {
			reason: "who never had a worker has nothing to give back",
			steps:  []string{"set a1:", "set a2:", "set:"},
		},
		"Settled": {
			reason: "the old version is released when the new one has settled, not before",
			steps:  []string{"set a1:", "enter a:", "leave a1:", "set a2:", "unsettled a2:", "settled a2: a1", "settled a2:"},
		},
		"Late": {
			reason: "or when its time is over",
			steps:  []string{"set a1:", "enter a:", "leave a1:", "set a2:", "pass 29:", "unsettled a2:", "pass 1:", "unsettled a2: a1"},
		},
		"Working": {
			reason: "but never while a worker is in it",
			steps:  []string{"set a1:", "enter a:", "set a2:", "settled a2:", "pass 60:", "unsettled a2:", "leave a1: a1"},
		},
		"Gone": {
			reason: "of a policy that is gone all versions are released at once",
			steps:  []string{"set a1:", "enter a:", "leave a1:", "set a2:", "enter a:", "leave a2:", "set: a1 a2"},
		},
		"GoneWorking": {
			reason: "or when the last worker leaves",
			steps:  []string{"set a1:", "enter a:", "enter a:", "set:", "leave a1:", "leave a1: a1"},
		},
		"Middle": {
			reason: "a middle version without a worker is nothing, and one with a worker waits as the first does",
			steps: []string{"set a1:", "enter a:", "leave a1:", "set a2:", "set a3:", "enter a:", "leave a3:", "set a4:",
				"settled a3:", "settled a4: a1 a3"},
		},
		"Each": {
			reason: "each has its own time",
			steps: []string{"set a1:", "enter a:", "leave a1:", "set a2:", "enter a:", "leave a2:", "pass 20:", "set a3:",
				"pass 10:", "unsettled a3: a1", "pass 20:", "unsettled a3: a2"},
		},
		"Others": {
			reason: "a policy that stays is left alone",
			steps:  []string{"set a1 b1:", "enter a:", "leave a1:", "enter b:", "leave b1:", "set a2 b1:", "settled b1:", "settled a2: a1", "set b1:"},
		},
		"Back": {
			reason: "a policy that comes back is a new one, and what is left of the old is not its",
			steps:  []string{"set a1:", "enter a:", "set:", "set a2:", "settled a2:", "leave a1: a1"},
		},
		"End": {
			reason: "at the end all are released",
			steps:  []string{"set a1 b1:", "enter a:", "leave a1:", "set a2 b1:", "end: a1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := versionsScript{versions: newRevisions(), operators: map[string]*policyController{}, now: time.Unix(1000, 0)}
			var got []string
			for _, step := range tc.steps {
				step, _, _ = strings.Cut(step, ":")
				got = append(got, strings.TrimSpace(step+": "+s.do(strings.Fields(step))))
			}
			if diff := cmp.Diff(tc.steps, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// versionsScript carries out the steps of TestVersions.
type versionsScript struct {
	versions  *revisions
	operators map[string]*policyController
	now       time.Time
}

func (s *versionsScript) do(step []string) string {
	switch step[0] {
	case "set":
		next := map[string]*policyController{}
		for _, name := range step[1:] {
			next[name[:1]] = s.operator(name)
		}
		_, release := s.versions.replaceCurrent(next, s.now.Add(keepOlder))
		return s.names(release)
	case "enter":
		s.versions.enterRevision(step[1])
	case "leave":
		_, release := s.versions.leaveRevision(s.operator(step[1]), workedOwner{})
		return s.names(release)
	case "settled", "unsettled":
		release, _ := s.versions.settleRevision(s.operator(step[1]), step[0] == "settled", s.now)
		return s.names(release)
	case "pass":
		var seconds int
		fmt.Sscan(step[1], &seconds)
		s.now = s.now.Add(time.Duration(seconds) * time.Second)
	case "end":
		return s.names(s.versions.clearOlder())
	}
	return ""
}

func (s *versionsScript) operator(name string) *policyController {
	if s.operators[name] == nil {
		s.operators[name] = &policyController{id: name[:1]}
	}
	return s.operators[name]
}

func (s *versionsScript) names(list []*policyController) string {
	var names []string
	for name, op := range s.operators {
		if slices.Contains(list, op) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestVersionsEnter: a worker is given the version that there is, and told when it leaves
// whether there is another one by then.
func TestVersionsEnter(t *testing.T) {
	v := newRevisions()
	program := &policy.Program{}
	first, second := &policyController{id: "a", program: program}, &policyController{id: "a", program: program, owners: owners.New[ownerState]()}
	if changed, _ := v.replaceCurrent(map[string]*policyController{"a": first}, time.Time{}); len(changed) != 1 || v.hasDropped(nil) {
		t.Errorf("changed are %v, dropped: %t", changed, v.hasDropped(nil))
	}
	if op := v.enterRevision("a"); op != first || v.enterRevision("b") != nil {
		t.Fatal("not the version that there is")
	}
	if replaced, _ := v.leaveRevision(first, workedOwner{}); replaced {
		t.Error("replaced, by itself")
	}
	v.enterRevision("a")
	if changed, _ := v.replaceCurrent(map[string]*policyController{"a": second}, time.Now()); len(changed) != 1 || !v.hasDropped(nil) {
		t.Errorf("changed are %v, dropped: %t", changed, v.hasDropped(nil))
	}
	if !first.replaced.Load() || !second.succeeding.Load() || !v.isBusy("a") {
		t.Error("it is not known that one has taken over from the other")
	}
	x := workedOwner{types.NamespacedName{Name: "x"}, "x"}
	if replaced, _ := v.leaveRevision(first, x); !replaced || v.isBusy("a") || second.owners.WorkedOwners()[x.name] != x.uid {
		t.Error("a worker is not told of the version after its own")
	}
	if changed, _ := v.replaceCurrent(map[string]*policyController{"a": second}, time.Now()); len(changed) != 0 {
		t.Errorf("changed are %v", changed)
	}
	if got := len(v.allRevisions()); got != 2 {
		t.Errorf("%d versions", got)
	}
}
