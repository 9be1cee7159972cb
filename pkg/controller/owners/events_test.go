package owners

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestMarkMissing: an owner that was worked on, by this revision or an older one, is looked for by the uid
// that it had, whatever the name stands for by now; what was found is returned from then on.
func TestMarkMissing(t *testing.T) {
	type answer struct {
		UID, Found types.UID
		OK         bool
	}
	cases := map[string]struct {
		reason  string
		prepare func(x *Index[work])
		want    answer
	}{
		"Unknown":   {reason: "nobody worked on it", prepare: func(*Index[work]) {}},
		"Unwanted":  {reason: "to look at its children is no work on it", prepare: func(x *Index[work]) { x.MarkUnwanted(alpha, "a", false) }},
		"Served":    {reason: "it was worked on", prepare: func(x *Index[work]) { x.StartWork(alpha, "a", &work{}) }, want: answer{UID: "a", OK: true}},
		"Inherited": {reason: "an older revision worked on it", prepare: func(x *Index[work]) { x.InheritOwner(alpha, "a") }, want: answer{UID: "a", OK: true}},
		"ServedAfterInherited": {
			reason: "what is worked on counts, not what was before it",
			prepare: func(x *Index[work]) {
				x.InheritOwner(alpha, "a")
				x.StartWork(alpha, "b", &work{})
			},
			want: answer{UID: "b", OK: true},
		},
		"WorkEnded": {
			reason: "the uid is known after the work has ended",
			prepare: func(x *Index[work]) {
				x.StartWork(alpha, "a", &work{})
				x.MarkMissing(alpha)
				x.StopWork(alpha, true, false)
			},
			want: answer{UID: "a", OK: true},
		},
		"ParentMissing": {reason: "the child says which owner it is", prepare: func(x *Index[work]) { x.MarkParentMissing(alpha, "a") }, want: answer{UID: "a", OK: true}},
		"ParentOfServed": {
			reason: "a child of an earlier owner does not make the one that is worked on missing, and says nothing of its uid",
			prepare: func(x *Index[work]) {
				x.StartWork(alpha, "b", &work{})
				x.MarkParentMissing(alpha, "a")
			},
			want: answer{UID: "b", OK: true},
		},
		"SecondParent": {
			reason: "the first of two earlier owners is looked for first",
			prepare: func(x *Index[work]) {
				x.MarkParentMissing(alpha, "a")
				x.MarkParentMissing(alpha, "b")
			},
			want: answer{UID: "a", OK: true},
		},
		"Found": {
			reason: "it need not be looked for again",
			prepare: func(x *Index[work]) {
				x.StartWork(alpha, "a", &work{})
				x.MarkMissing(alpha)
				x.RecordFound(alpha, owner("b"))
			},
			want: answer{UID: "b", Found: "b", OK: true},
		},
		"Visible": {
			reason: "what was found does not hold any more once the stream shows it again",
			prepare: func(x *Index[work]) {
				x.StartWork(alpha, "a", &work{})
				x.RecordFound(alpha, owner("a"))
				x.MarkVisible(alpha)
			},
			want: answer{UID: "a", OK: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := New[work]()
			tc.prepare(x)
			uid, found, ok := x.MarkMissing(alpha)
			got := answer{UID: uid, OK: ok}
			if found != nil {
				got.Found = found.GetUID()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMarkVisible: that an owner was missing is told once, so that what waits for it is given back once.
func TestMarkVisible(t *testing.T) {
	x := New[work]()
	if x.MarkVisible(alpha) {
		t.Error("an owner that nobody missed is said to have been missing")
	}
	for reason, event := range map[string]string{"it was missing": "MarkParentMissing", "it was found by its name": "RecordFound"} {
		events[event](x, alpha, "a")
		if !x.MarkVisible(alpha) {
			t.Errorf("%s, and that is not said", reason)
		}
		if x.MarkVisible(alpha) || x.CountKnown() != 0 {
			t.Errorf("%s: it is said twice, or %d owners are remembered", reason, x.CountKnown())
		}
	}
}

// TestMarkUnwanted: what is known of an owner's children stands while it is the same owner, and is found
// out anew for another one of its name, and after it was wanted in between.
func TestMarkUnwanted(t *testing.T) {
	cases := map[string]struct {
		reason  string
		history []string
		isNew   bool
		want    Phase
	}{
		"First":       {reason: "nothing is known", want: Inspected},
		"FirstAsNew":  {reason: "there was no time to make something for it", isNew: true, want: Clean},
		"Again":       {reason: "an event is no reason to look again", history: []string{"RecordInspection, none"}, want: Clean},
		"AgainOurs":   {reason: "what was found is still to be removed", history: []string{"RecordInspection, ours"}, want: CleaningUp},
		"AgainBlind":  {reason: "the rights are as they were", history: []string{"RecordBlind"}, want: Blind},
		"AgainAsNew":  {reason: "what was found counts more than its age", history: []string{"RecordInspection, ours"}, isNew: true, want: CleaningUp},
		"AfterWanted": {reason: "something may have been made for it", history: []string{"RecordInspection, none", "MarkWanted"}, want: Inspected},
		"AfterWork":   {reason: "it was worked on", history: []string{"StartWork"}, isNew: true, want: CleaningUp},
		"CleanedUp":   {reason: "it was cleaned up after and is still there", history: []string{"StartWork", "MarkUnwanted", "RecordCleanedUp", "StopWork, seen"}, want: Clean},
		"WhileGone":   {reason: "it is missing first of all", history: []string{"StartWork", "MarkMissing"}, want: Missing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := New[work]()
			for _, event := range tc.history {
				events[event](x, alpha, "a")
			}
			if got := x.MarkUnwanted(alpha, "a", tc.isNew); got != tc.want {
				t.Errorf("%s: after %v it is %s, want %s", tc.reason, tc.history, got, tc.want)
			}
		})
	}
}

// TestStartWorkOnAnother: the work on an owner is that of the last one of its name, and is counted once.
func TestStartWorkOnAnother(t *testing.T) {
	x := New[work]()
	x.StartWork(alpha, "a", &work{"first"})
	x.StartWork(alpha, "b", &work{"second"})
	got, uid := x.WorkOf(alpha)
	if diff := cmp.Diff(&work{"second"}, got, cmp.AllowUnexported(work{})); diff != "" || uid != "b" {
		t.Errorf("the uid is %q, and the work (-want +got):\n%s", uid, diff)
	}
	if got := x.CountOwners(); got.Working != 1 || x.WorkingIn(alpha.Namespace) != 1 {
		t.Errorf("one owner counts as %d, and as %d in its namespace", got.Working, x.WorkingIn(alpha.Namespace))
	}
}

// TestCountOwners: an owner may be among each of the counts, and leaves each by an event of its own.
func TestCountOwners(t *testing.T) {
	x := New[work]()
	steps := []struct {
		event string
		want  Counts
	}{
		{"InheritOwner", Counts{Inherited: 1}},
		{"StartWork", Counts{Inherited: 1, Working: 1}},
		{"InheritOwner", Counts{Inherited: 1, Working: 1}},
		{"MarkMissing", Counts{Inherited: 1, Working: 1, Missing: 1}},
		{"MarkUnwanted", Counts{Inherited: 1, Working: 1, Missing: 1}},
		{"MarkLookedAt", Counts{Working: 1, Missing: 1}},
		{"StopWork, seen", Counts{Missing: 1}},
		{"RecordFound", Counts{Missing: 1}},
		{"MarkVisible", Counts{}},
	}
	for _, step := range steps {
		events[step.event](x, alpha, "a")
		if diff := cmp.Diff(step.want, x.CountOwners()); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.event, diff)
		}
	}
	if x.CountKnown() != 0 {
		t.Errorf("%d owners are remembered, of which nothing is known", x.CountKnown())
	}
}
