package revisions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRelease: what is released when, as text: each step and what it gives back. A policy
// is a letter and a revision of it a number, so a1 is the first of policy a.
func TestRelease(t *testing.T) {
	cases := map[string]struct {
		reason string
		steps  []string // "STEP: released"
	}{
		"Unworked": {
			reason: "who never had a worker has nothing to give back",
			steps:  []string{"set a1:", "set a2:", "set:"},
		},
		"Settled": {
			reason: "the old revision is released when the new one has settled, not before",
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
			reason: "of a policy that is gone all revisions are released at once",
			steps:  []string{"set a1:", "enter a:", "leave a1:", "set a2:", "enter a:", "leave a2:", "set: a1 a2"},
		},
		"GoneWorking": {
			reason: "or when the last worker leaves",
			steps:  []string{"set a1:", "enter a:", "enter a:", "set:", "leave a1:", "leave a1: a1"},
		},
		"Middle": {
			reason: "a middle revision without a worker is nothing, and one with a worker waits as the first does",
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
		"Neither": {
			reason: "one that is not the current one any more settles nothing",
			steps:  []string{"set a1:", "enter a:", "leave a1:", "set a2:", "set a3:", "settled a2:", "settled a1:", "settled a3: a1"},
		},
		"LateAndWorking": {
			reason: "one whose time is over goes with its last worker, and one whose is not stays",
			steps: []string{"set a1:", "enter a:", "enter a:", "set a2:", "enter a:", "pass 20:", "set a3:", "pass 10:", "unsettled a3:",
				"leave a1:", "leave a2:", "leave a1: a1", "pass 20:", "unsettled a3: a2"},
		},
		"End": {
			reason: "at the end all are released",
			steps:  []string{"set a1 b1:", "enter a:", "leave a1:", "set a2 b1:", "end: a1", "end:"},
		},
		"EndOfAll": {
			reason: "sorted by policy, the oldest first",
			steps: []string{"set b1 a1:", "enter b:", "leave b1:", "enter a:", "leave a1:", "set b2 a2:", "enter a:", "leave a2:", "set b2 a3:",
				"end: a1 a2 b1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := script{revisions: map[string]*Revision[string]{}, now: time.Unix(1000, 0)}
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

// script carries out the steps of TestRelease.
type script struct {
	registry  Registry[string]
	revisions map[string]*Revision[string]
	now       time.Time
}

func (s *script) do(step []string) string {
	var release []string
	switch step[0] {
	case "set":
		next := map[string]*Revision[string]{}
		for _, name := range step[1:] {
			next[name[:1]] = s.revision(name)
		}
		_, release = s.registry.ReplaceCurrent(next, s.now)
	case "enter":
		s.registry.EnterCurrent(step[1])
	case "leave":
		_, release = s.registry.LeaveRevision(s.revision(step[1]), func(string) {})
	case "settled", "unsettled":
		release, _ = s.registry.SettleRevision(s.revision(step[1]), step[0] == "settled", s.now)
	case "pass":
		var seconds int
		fmt.Sscan(step[1], &seconds)
		s.now = s.now.Add(time.Duration(seconds) * time.Second)
	case "end":
		release = s.registry.ClearOlder()
	}
	return strings.Join(release, " ")
}

func (s *script) revision(name string) *Revision[string] {
	if s.revisions[name] == nil {
		s.revisions[name] = New(name[:1], name)
	}
	return s.revisions[name]
}

// TestReplacedWhileWorking: a worker is given the revision that there is, and told when it leaves
// whether there is another one by then, which hears of it first.
func TestReplacedWhileWorking(t *testing.T) {
	var g Registry[string]
	now := time.Unix(1000, 0)
	first, second := New("a", "a1"), New("a", "a2")
	nobody := func(next string) { t.Errorf("%s inherits from itself, or from nobody", next) }
	if changed, _ := g.ReplaceCurrent(map[string]*Revision[string]{"a": first}, now); !cmp.Equal(changed, []string{"a"}) || g.HasDropped("b") {
		t.Errorf("changed are %v, dropped: %t", changed, g.HasDropped("b"))
	}
	if r := g.EnterCurrent("a"); r != first || r.Value() != "a1" || g.EnterCurrent("b") != nil {
		t.Fatal("not the revision that there is")
	}
	if hasNext, _ := g.LeaveRevision(first, nobody); hasNext {
		t.Error("replaced, by itself")
	}
	if !g.HasDropped("a") || g.HasDropped("b") {
		t.Error("only that of a is dropped if it is replaced")
	}
	g.EnterCurrent("a")
	if changed, release := g.ReplaceCurrent(map[string]*Revision[string]{"a": second}, now); !cmp.Equal(changed, []string{"a"}) || release != nil || !g.HasDropped("b") {
		t.Errorf("changed are %v, %v is released, dropped: %t", changed, release, g.HasDropped("b"))
	}
	if !first.IsReplaced() || second.IsReplaced() || !second.IsSucceeding() || !g.IsBusy("a") || g.IsBusy("b") {
		t.Error("it is not known that one has taken over from the other")
	}
	if got, want := g.AllRevisions(), []string{"a2", "a1"}; !cmp.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	told := ""
	hasNext, release := g.LeaveRevision(first, func(next string) {
		if told = next; first.workers != 1 {
			t.Error("the worker is gone before the next revision has heard of what it did")
		}
		if g.mu.TryLock() {
			g.mu.Unlock()
			t.Error("the next revision may be replaced before it has heard of that")
		}
	})
	if !hasNext || told != "a2" || g.IsBusy("a") || release != nil {
		t.Errorf("%q is told of the worker, and %v is released", told, release)
	}
	if changed, _ := g.ReplaceCurrent(map[string]*Revision[string]{"a": second}, now); changed != nil {
		t.Errorf("changed are %v, and nothing has", changed)
	}
	if got := g.CurrentOf("a") + g.CurrentOf("b"); got != "a2" {
		t.Errorf("current is %q", got)
	}
	g.EnterCurrent("a")
	g.ReplaceCurrent(nil, now)
	if hasNext, release := g.LeaveRevision(second, nobody); hasNext || !cmp.Equal(release, []string{"a2"}) {
		t.Errorf("%v is released of a policy that is gone", release)
	}
	if got := g.AllCurrent(); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
}

// TestSettleWait: it is to be looked again when the first of several older revisions has had its time,
// and not at all when there are none but those with workers.
func TestSettleWait(t *testing.T) {
	var g Registry[string]
	now := time.Unix(1000, 0)
	replace := func(name string, isWorking bool) *Revision[string] {
		r := New("a", name)
		g.ReplaceCurrent(map[string]*Revision[string]{"a": r}, now)
		g.EnterCurrent("a")
		if !isWorking {
			g.LeaveRevision(r, func(string) {})
		}
		now = now.Add(10 * time.Second)
		return r
	}
	first := replace("a1", true)
	replace("a2", false)
	last := replace("a3", false)
	for _, tc := range []struct {
		reason       string
		later, wait  time.Duration
		release      []string
		isSucceeding bool
	}{
		{reason: "the first was replaced 20 s ago", wait: 10 * time.Second, isSucceeding: true},
		{reason: "and the second 10 s later, while a worker is in the first", later: 15 * time.Second, wait: 5 * time.Second, isSucceeding: true},
		{reason: "one with a worker needs no look", later: 5 * time.Second, release: []string{"a2"}},
		{reason: "nor does it later", later: time.Hour},
	} {
		now = now.Add(tc.later)
		release, wait := g.SettleRevision(last, false, now)
		if !cmp.Equal(release, tc.release) || wait != tc.wait || last.IsSucceeding() != tc.isSucceeding {
			t.Errorf("%s: %v is released, wait %s, succeeding: %t", tc.reason, release, wait, last.IsSucceeding())
		}
	}
	if _, release := g.LeaveRevision(first, func(string) {}); !cmp.Equal(release, []string{"a1"}) {
		t.Errorf("%v is released", release)
	}
}
