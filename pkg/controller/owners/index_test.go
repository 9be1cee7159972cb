package owners

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

var rewrite = flag.Bool("rewrite", false, "write what is into testdata, for the diff to be reviewed")

type work struct{ note string }

func owner(uid types.UID) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetUID(uid)
	return o
}

var rights = new(int)

// events are all that can happen to an owner, each with the uid u.
var events = map[string]func(x *Index[work], n types.NamespacedName, uid types.UID){
	"InheritOwner":            func(x *Index[work], n types.NamespacedName, u types.UID) { x.InheritOwner(n, u) },
	"MarkLookedAt":            func(x *Index[work], n types.NamespacedName, _ types.UID) { x.MarkLookedAt(n) },
	"StartWork":               func(x *Index[work], n types.NamespacedName, u types.UID) { x.StartWork(n, u, &work{}) },
	"MarkWanted":              func(x *Index[work], n types.NamespacedName, _ types.UID) { x.MarkWanted(n) },
	"MarkUnwanted":            func(x *Index[work], n types.NamespacedName, u types.UID) { x.MarkUnwanted(n, u, false) },
	"MarkUnwanted, new":       func(x *Index[work], n types.NamespacedName, u types.UID) { x.MarkUnwanted(n, u, true) },
	"RecordInspection, ours":  func(x *Index[work], n types.NamespacedName, u types.UID) { x.RecordInspection(n, u, true) },
	"RecordInspection, none":  func(x *Index[work], n types.NamespacedName, u types.UID) { x.RecordInspection(n, u, false) },
	"RecordBlind":             func(x *Index[work], n types.NamespacedName, u types.UID) { x.RecordBlind(n, u, rights) },
	"MarkMissing":             func(x *Index[work], n types.NamespacedName, _ types.UID) { x.MarkMissing(n) },
	"MarkParentMissing":       func(x *Index[work], n types.NamespacedName, u types.UID) { x.MarkParentMissing(n, u) },
	"RecordFound":             func(x *Index[work], n types.NamespacedName, u types.UID) { x.RecordFound(n, owner(u)) },
	"MarkVisible":             func(x *Index[work], n types.NamespacedName, _ types.UID) { x.MarkVisible(n) },
	"RecordCleanedUp":         func(x *Index[work], n types.NamespacedName, u types.UID) { x.RecordCleanedUp(n, u, false) },
	"RecordCleanedUp, always": func(x *Index[work], n types.NamespacedName, u types.UID) { x.RecordCleanedUp(n, u, true) },
	"StopWork, seen":          func(x *Index[work], n types.NamespacedName, _ types.UID) { x.StopWork(n, true, false) },
	"StopWork, unseen":        func(x *Index[work], n types.NamespacedName, _ types.UID) { x.StopWork(n, false, false) },
	"StopWork, halted":        func(x *Index[work], n types.NamespacedName, _ types.UID) { x.StopWork(n, true, true) },
}

// ways leads to each phase.
var ways = map[Phase][]string{
	Unknown:    nil,
	Inherited:  {"InheritOwner"},
	Served:     {"StartWork"},
	Inspected:  {"MarkUnwanted"},
	Blind:      {"MarkUnwanted", "RecordBlind"},
	CleaningUp: {"StartWork", "MarkUnwanted"},
	Clean:      {"MarkUnwanted", "RecordInspection, none"},
	Missing:    {"StartWork", "MarkMissing"},
	Deselected: {"StartWork", "MarkMissing", "RecordFound"},
}

var alpha = types.NamespacedName{Namespace: "n", Name: "alpha"}

// TestTransitions: every phase with every event, as text.
func TestTransitions(t *testing.T) {
	var got strings.Builder
	for phase := Unknown; phase <= Deselected; phase++ {
		for _, event := range slices.Sorted(maps.Keys(events)) {
			x := New[work]()
			for _, before := range ways[phase] {
				events[before](x, alpha, "a")
			}
			if x.PhaseOf(alpha) != phase {
				t.Fatalf("%v lead to %s, not %s", ways[phase], x.PhaseOf(alpha), phase)
			}
			if events[event](x, alpha, "a"); x.PhaseOf(alpha) != phase {
				fmt.Fprintf(&got, "%-11s %-24s %s\n", phase, event, x.PhaseOf(alpha))
			}
		}
	}
	const file = "testdata/transitions.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got; review, then run with -rewrite:\n%s", diff)
	}
}

// TestAnotherOwner: what is known of an owner is no answer for another one of its name.
func TestAnotherOwner(t *testing.T) {
	x := New[work]()
	x.RecordInspection(alpha, "a", false)
	if phase := x.MarkUnwanted(alpha, "b", false); phase != Inspected {
		t.Errorf("another owner that nobody looked at is %s", phase)
	}
	x.InheritOwner(alpha, "a")
	if phase := x.MarkUnwanted(alpha, "b", true); phase != Inspected {
		t.Errorf("another owner than the inherited one is %s", phase)
	}
	if phase := x.MarkUnwanted(alpha, "a", true); phase != CleaningUp {
		t.Errorf("the inherited owner is %s", phase)
	}
	x.RecordCleanedUp(alpha, "a", true)
	if !x.IsCleanedUp("a") || x.IsCleanedUp("b") {
		t.Error("cleaned up after is another owner")
	}
}

// TestStopWork: what was there is told once, so that it is given back once.
func TestStopWork(t *testing.T) {
	x := New[work]()
	beta := types.NamespacedName{Namespace: "n", Name: "beta"}
	x.StartWork(alpha, "a", &work{"alpha"})
	x.StartWork(beta, "b", &work{"beta"})
	x.InheritOwner(alpha, "a") // ignored: it is worked on
	for _, c := range []struct {
		reason string
		name   types.NamespacedName
		want   Released
	}{
		{"another one is left", alpha, Released{Worked: true}},
		{"it was forgotten before", alpha, Released{}},
		{"the last one of the namespace", beta, Released{Worked: true, Last: true}},
	} {
		if got := x.StopWork(c.name, true, false); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.reason, got, c.want)
		}
	}
	if x.CountKnown() != 0 || x.CountOwners() != (Counts{}) {
		t.Errorf("something is left: %+v", x.CountOwners())
	}
	x.MarkUnwanted(alpha, "a", false)
	if was := x.StopWork(alpha, true, false); !was.Inspected || x.PhaseOf(alpha) != Inspected {
		t.Errorf("an owner that is seen is forgotten: %+v", was)
	}
	if x.StopWork(alpha, false, false); x.CountKnown() != 0 {
		t.Error("an owner that nobody sees any more is kept")
	}
}

// TestSuccessor: a revision learns from the one before what it has to look at, and what it
// need not find out again.
func TestSuccessor(t *testing.T) {
	before, x := New[work](), New[work]()
	for i, event := range []string{"StartWork", "InheritOwner", "MarkParentMissing", "RecordInspection, none", "RecordInspection, ours", "RecordBlind", "MarkUnwanted"} {
		events[event](before, types.NamespacedName{Namespace: "n", Name: event}, types.UID(fmt.Sprint(i)))
	}
	before.RecordCleanedUp(alpha, "cleaned", true)
	for name, uid := range before.WorkedOwners() {
		x.InheritOwner(name, uid)
	}
	x.TakeFindings(before)
	x.TakeCleanedUp(before)
	want := map[string]Phase{
		"StartWork": Inherited, "InheritOwner": Inherited, "MarkParentMissing": Inherited,
		"RecordInspection, none": Clean, "RecordInspection, ours": Unknown, "RecordBlind": Blind, "MarkUnwanted": Unknown,
	}
	got := map[string]Phase{}
	for event := range want {
		got[event] = x.PhaseOf(types.NamespacedName{Namespace: "n", Name: event})
	}
	if diff := cmp.Diff(want, got); diff != "" || !x.IsCleanedUp("cleaned") {
		t.Errorf("-want +got:\n%s", diff)
	}
	if x.RecordInspection(types.NamespacedName{Namespace: "n", Name: "RecordBlind"}, "5", false); !before.IsBlindWith(types.NamespacedName{Namespace: "n", Name: "RecordBlind"}, rights) {
		t.Error("the two share what they know")
	}
}

// twin is an Index without an idea: a set for each fact, and each question asked of the sets.
type twin struct {
	worked, inherited, missing, unwanted map[types.NamespacedName]types.UID
	found, looked, ours, blind           map[types.NamespacedName]bool
}

func (w *twin) phase(n types.NamespacedName) Phase {
	unwanted, isUnwanted := w.unwanted[n]
	_, worked := w.worked[n]
	_, missing := w.missing[n]
	inherited, isInherited := w.inherited[n]
	switch {
	case w.found[n]:
		return Deselected
	case missing:
		return Missing
	case isUnwanted && (worked || isInherited && inherited == unwanted || w.ours[n]):
		return CleaningUp
	case isUnwanted && w.looked[n]:
		return Clean
	case isUnwanted && w.blind[n]:
		return Blind
	case isUnwanted:
		return Inspected
	case worked:
		return Served
	case isInherited:
		return Inherited
	}
	return Unknown
}

func (w *twin) setUnwanted(n types.NamespacedName, uid types.UID, looked, ours, blind bool) {
	w.unwanted[n], w.looked[n], w.ours[n], w.blind[n] = uid, looked, ours, blind
}

// apply does what the event says; each line is the rule of that event.
func (w *twin) apply(event string, n types.NamespacedName, u types.UID) {
	_, worked := w.worked[n]
	inherited, isInherited := w.inherited[n]
	_, missing := w.missing[n]
	switch before, isUnwanted := w.unwanted[n]; {
	case event == "InheritOwner" && !worked:
		w.inherited[n] = u
	case event == "MarkLookedAt":
		delete(w.inherited, n)
	case event == "StartWork":
		w.worked[n] = u
	case event == "MarkWanted":
		delete(w.unwanted, n)
	case strings.HasPrefix(event, "MarkUnwanted") && (!isUnwanted || before != u):
		w.setUnwanted(n, u, strings.HasSuffix(event, "new"), false, false)
	case event == "RecordInspection, ours":
		w.setUnwanted(n, u, true, true, false)
	case event == "RecordInspection, none", event == "RecordCleanedUp":
		w.setUnwanted(n, u, true, false, false)
	case event == "RecordBlind":
		w.setUnwanted(n, u, false, false, true)
	case event == "MarkMissing" && !missing && worked:
		w.missing[n] = w.worked[n]
	case event == "MarkMissing" && !missing && isInherited:
		w.missing[n] = inherited
	case event == "MarkParentMissing" && !worked && !missing:
		w.missing[n] = u
	case event == "RecordFound":
		w.missing[n], w.found[n] = u, true
	case event == "MarkVisible":
		delete(w.missing, n)
		delete(w.found, n)
	case strings.HasPrefix(event, "StopWork"):
		delete(w.worked, n)
		if !strings.HasSuffix(event, "halted") {
			delete(w.inherited, n)
		}
		if missing || strings.HasSuffix(event, "unseen") {
			delete(w.unwanted, n)
		}
	}
}

// TestWalks: after any history the phases, and all that is counted and listed, are as those of
// the twin.
func TestWalks(t *testing.T) {
	names := []types.NamespacedName{alpha, {Namespace: "n", Name: "beta"}, {Namespace: "m", Name: "gamma"}}
	all := slices.Sorted(maps.Keys(events))
	rapid.Check(t, func(t *rapid.T) {
		x := New[work]()
		w := &twin{
			worked: map[types.NamespacedName]types.UID{}, inherited: map[types.NamespacedName]types.UID{},
			missing: map[types.NamespacedName]types.UID{}, unwanted: map[types.NamespacedName]types.UID{},
			found: map[types.NamespacedName]bool{}, looked: map[types.NamespacedName]bool{}, ours: map[types.NamespacedName]bool{}, blind: map[types.NamespacedName]bool{},
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			event, n := rapid.SampledFrom(all).Draw(t, "event"), rapid.SampledFrom(names).Draw(t, "owner")
			u := rapid.SampledFrom([]types.UID{"a", "b"}).Draw(t, "uid")
			events[event](x, n, u)
			w.apply(event, n, u)
			for _, name := range names {
				if got, want := x.PhaseOf(name), w.phase(name); got != want {
					t.Fatalf("%s is %s, want %s", name, got, want)
				}
			}
			if diff := cmp.Diff(w.counted(), countedOf(x)); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
		}
	})
}

// counted are the answers that are about more than one owner.
type counted struct {
	Counts     Counts
	Unseen     int
	Working    map[types.NamespacedName]types.UID
	In         map[string]int
	OutOfSight map[types.NamespacedName]bool
}

func countedOf(x *Index[work]) counted {
	c := counted{Counts: x.CountOwners(), Unseen: x.CountUnseen(), Working: map[types.NamespacedName]types.UID{}, In: map[string]int{}, OutOfSight: map[types.NamespacedName]bool{}}
	for name := range x.WorkingOwners() {
		_, c.Working[name] = x.WorkOf(name)
	}
	for _, namespace := range []string{"n", "m"} {
		c.In[namespace] = x.WorkingIn(namespace)
	}
	for name := range x.OwnersOutOfSight() {
		c.OutOfSight[name] = true
	}
	return c
}

func (w *twin) counted() counted {
	c := counted{
		Counts:  Counts{Working: len(w.worked), Inherited: len(w.inherited), Missing: len(w.missing)},
		Working: w.worked, In: map[string]int{"n": 0, "m": 0}, OutOfSight: map[types.NamespacedName]bool{},
	}
	for name := range w.worked {
		c.In[name.Namespace]++
	}
	for name := range w.inherited {
		c.OutOfSight[name] = true
		if _, worked := w.worked[name]; !worked {
			c.Unseen++
		}
	}
	for name := range w.missing {
		if _, worked := w.worked[name]; !worked {
			c.OutOfSight[name] = true
		}
	}
	return c
}
