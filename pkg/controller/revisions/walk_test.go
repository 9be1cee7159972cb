package revisions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

// twin knows the same as a Registry, in one list of all revisions that ever were.
type twin struct {
	now time.Time
	all []*twinRevision
}

// twinRevision is a revision as the twin sees it. A is its policy, a1 its name.
type twinRevision struct {
	name                 string
	workers              int
	isCurrent, hasWorked bool
	isUseless, isGone    bool // of no use any more; released, or with nothing to give back
	replacedAt           time.Time
	isSucceeding         bool
}

func (r *twinRevision) isOf(policy string) bool { return r.name[:1] == policy }

// older are the revisions of a policy that were replaced and hold something.
func (w *twin) older(policy string) (list []*twinRevision) {
	for _, r := range w.all {
		if r.isOf(policy) && !r.isCurrent && !r.isGone {
			list = append(list, r)
		}
	}
	return list
}

// current is that of a policy; nil if there is none.
func (w *twin) current(policy string) *twinRevision {
	for _, r := range w.all {
		if r.isOf(policy) && r.isCurrent {
			return r
		}
	}
	return nil
}

// release ends what is useless and has no worker, and returns the names.
func (w *twin) release(policies ...string) (names []string) {
	for _, policy := range policies {
		for _, r := range w.older(policy) {
			if r.isUseless && r.workers == 0 {
				r.isGone = true
				names = append(names, r.name)
			}
		}
	}
	return names
}

// replace makes a revision of that name the current one of a policy; "": none.
func (w *twin) replace(policy, name string) (released []string) {
	before := w.current(policy)
	if before != nil {
		before.isCurrent, before.isGone, before.replacedAt = false, !before.hasWorked, w.now
	}
	if name != "" {
		w.all = append(w.all, &twinRevision{name: name, isCurrent: true, isSucceeding: before != nil && len(w.older(policy)) > 0})
	} else if before != nil {
		for _, r := range w.older(policy) {
			r.isUseless = true
		}
	}
	if before == nil {
		return nil
	}
	return w.release(policy)
}

// settle is SettleRevision of a policy's current revision.
func (w *twin) settle(policy string, isSettled bool) (released []string, wait time.Duration) {
	for _, r := range w.older(policy) {
		left := r.replacedAt.Add(KeepOlder).Sub(w.now)
		r.isUseless = r.isUseless || isSettled || left <= 0
		if !r.isUseless && (wait == 0 || left < wait) {
			wait = left
		}
	}
	current := w.current(policy)
	current.isSucceeding = current.isSucceeding && wait > 0
	return w.release(policy), wait
}

// view is all that a Registry can be asked, as text.
func (w *twin) view(policies []string) (lines []string) {
	var current, older []string
	for _, policy := range policies {
		dropped := slices.ContainsFunc(w.all, func(r *twinRevision) bool { return r.hasWorked && (!r.isCurrent || r.isOf(policy)) })
		busy := slices.ContainsFunc(w.older(policy), func(r *twinRevision) bool { return r.workers > 0 })
		name := ""
		if r := w.current(policy); r != nil {
			name = r.name
			current = append(current, name)
		}
		for _, r := range w.older(policy) {
			older = append(older, r.name)
		}
		lines = append(lines, fmt.Sprintf("%s: current %q, busy %t, dropped %t", policy, name, busy, dropped))
	}
	for _, r := range w.all {
		lines = append(lines, fmt.Sprintf("%s: replaced %t, succeeding %t", r.name, !r.isCurrent, r.isSucceeding))
	}
	return append(lines, strings.Join(current, " "), strings.Join(slices.Concat(current, older), " "))
}

// walker takes a Registry and its twin through the same steps.
type walker struct {
	*rapid.T
	registry  Registry[string]
	twin      twin
	policies  []string
	current   map[string]*Revision[string]
	revisions []*Revision[string] // in the order of twin.all
	inside    []*Revision[string] // one for each worker
	made      int
}

func (w *walker) view() (lines []string) {
	for _, policy := range w.policies {
		lines = append(lines, fmt.Sprintf("%s: current %q, busy %t, dropped %t", policy, w.registry.CurrentOf(policy), w.registry.IsBusy(policy), w.registry.HasDropped(policy)))
	}
	for _, r := range w.revisions {
		lines = append(lines, fmt.Sprintf("%s: replaced %t, succeeding %t", r.Value(), r.IsReplaced(), r.IsSucceeding()))
	}
	return append(lines, strings.Join(w.registry.AllCurrent(), " "), strings.Join(w.registry.AllRevisions(), " "))
}

func (w *walker) compare(what string, got, want any) {
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// twinOf is the twin's of a revision.
func (w *walker) twinOf(r *Revision[string]) *twinRevision {
	return w.twin.all[slices.Index(w.revisions, r)]
}

// replaceSome gives each policy another revision, or none, or leaves it alone.
func (w *walker) replaceSome() {
	next := maps.Clone(w.current)
	var released, changed []string
	for _, policy := range w.policies {
		switch rapid.SampledFrom([]string{"stays", "stays", "changes", "goes"}).Draw(w.T, policy) {
		case "changes":
			w.made++
			r := New(policy, fmt.Sprintf("%s%d", policy, w.made))
			next[policy] = r
			w.revisions = append(w.revisions, r)
			changed = append(changed, policy)
			released = append(released, w.twin.replace(policy, r.Value())...)
		case "goes":
			delete(next, policy)
			released = append(released, w.twin.replace(policy, "")...)
		}
	}
	gotChanged, gotReleased := w.registry.ReplaceCurrent(maps.Clone(next), w.twin.now)
	w.current = next
	w.compare("changed", gotChanged, changed)
	w.compare("released by ReplaceCurrent", gotReleased, released)
}

func (w *walker) enterOne() {
	policy := rapid.SampledFrom(w.policies).Draw(w.T, "policy")
	r, want := w.registry.EnterCurrent(policy), w.twin.current(policy)
	if (r == nil) != (want == nil) {
		w.Fatalf("a worker of %s is given %v", policy, r)
	}
	if r != nil {
		w.compare("entered", r.Value(), want.name)
		want.workers++
		want.hasWorked = true
		w.inside = append(w.inside, r)
	}
}

func (w *walker) leaveOne() {
	if len(w.inside) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.inside)-1).Draw(w.T, "worker")
	r := w.inside[i]
	w.inside = slices.Delete(w.inside, i, i+1)
	told, wantTold := "", ""
	hasNext, released := w.registry.LeaveRevision(r, func(next string) { told = next })
	old := w.twinOf(r)
	old.workers--
	if next := w.twin.current(r.policy); next != nil && next != old {
		wantTold = next.name
	}
	w.compare("told", told, wantTold)
	w.compare("has a next one", hasNext, wantTold != "")
	w.compare("released by LeaveRevision", released, w.twin.release(r.policy))
}

func (w *walker) settleOne() {
	if len(w.revisions) == 0 {
		return
	}
	r := rapid.SampledFrom(w.revisions).Draw(w.T, "revision")
	isSettled := rapid.Bool().Draw(w.T, "settled")
	released, wait := w.registry.SettleRevision(r, isSettled, w.twin.now)
	var wantReleased []string
	var wantWait time.Duration
	if w.twinOf(r).isCurrent {
		wantReleased, wantWait = w.twin.settle(r.policy, isSettled)
	}
	w.compare("released by SettleRevision", released, wantReleased)
	w.compare("wait", wait, wantWait)
}

// endAll has all workers leave, and clears what is left.
func (w *walker) endAll() {
	for len(w.inside) > 0 {
		w.leaveOne()
	}
	for _, r := range w.twin.all {
		r.isUseless = !r.isCurrent
	}
	w.compare("released by ClearOlder", w.registry.ClearOlder(), w.twin.release(w.policies...))
	for _, r := range w.twin.all {
		if !r.isCurrent && !r.isGone {
			w.Fatalf("%s is never released", r.name)
		}
	}
}

// TestWalks: after any history a Registry says, and has released, what its twin does.
func TestWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &walker{T: t, twin: twin{now: time.Unix(1000, 0)}, policies: []string{"a", "b"}, current: map[string]*Revision[string]{}}
		steps := map[string]func(){
			"replace": w.replaceSome, "enter": w.enterOne, "leave": w.leaveOne, "settle": w.settleOne,
			"pass": func() {
				w.twin.now = w.twin.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			},
		}
		names := slices.Sorted(maps.Keys(steps))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			steps[rapid.SampledFrom(names).Draw(t, "step")]()
			w.compare("seen", w.view(), w.twin.view(w.policies))
		}
		w.endAll()
		w.compare("seen at the end", w.view(), w.twin.view(w.policies))
	})
}
