package owners

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

// indexAfter is an Index with one owner for each entry, to which the events happened in turn.
func indexAfter(histories map[types.NamespacedName][]string) *Index[work] {
	x := New[work]()
	for name, history := range histories {
		for _, event := range history {
			events[event](x, name, types.UID("uid of "+name.Name))
		}
	}
	return x
}

func in(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// answers are what an Index says of the one owner alpha.
type answers struct {
	Working, Inspected, BlindWithRights, BlindWithOther bool

	Blind, OutOfSight, Busy bool
	Unseen                  int
	Inherits                types.UID // the uid that the next revision is to look at
}

func answersOf(x *Index[work]) answers {
	return answers{
		Working: x.IsWorking(alpha), Inspected: x.IsInspected(alpha),
		BlindWithRights: x.IsBlindWith(alpha, rights), BlindWithOther: x.IsBlindWith(alpha, new(int)),
		Blind:      slices.Contains(slices.Collect(x.BlindOwners()), alpha),
		OutOfSight: slices.Contains(slices.Collect(x.OwnersOutOfSight()), alpha),
		Busy:       slices.Contains(slices.Collect(x.BusyNamespaces()), alpha.Namespace),
		Unseen:     x.CountUnseen(), Inherits: x.WorkedOwners()[alpha],
	}
}

// TestQueries: each question about an owner, after each kind of history.
func TestQueries(t *testing.T) {
	const uid = "uid of alpha"
	cases := map[string]struct {
		reason  string
		history []string
		want    answers
	}{
		"Unknown": {
			reason: "an owner that nothing is known of is in no list",
		},
		"Served": {
			reason: "the stream of owners brings it up, so it is not out of sight", history: []string{"StartWork"},
			want: answers{Working: true, Busy: true, Inherits: uid},
		},
		"Inherited": {
			reason: "nobody else brings it up, and its namespace has to be asked about", history: []string{"InheritOwner"},
			want: answers{OutOfSight: true, Busy: true, Unseen: 1, Inherits: uid},
		},
		"InheritedAndServed": {
			reason: "it is worked on, and still counts as to be looked at", history: []string{"InheritOwner", "StartWork"},
			want: answers{Working: true, OutOfSight: true, Busy: true, Inherits: uid},
		},
		"LookedAt": {
			reason: "there is nothing of the older revision to do", history: []string{"InheritOwner", "MarkLookedAt"},
		},
		"Inspected": {
			reason: "it is to be found out whether something is ours", history: []string{"MarkUnwanted"},
			want: answers{Inspected: true},
		},
		"New": {
			reason: "it is younger than all work of the policy, so there is nothing to find", history: []string{"MarkUnwanted, new"},
		},
		"NothingOurs": {
			reason: "that was found out", history: []string{"MarkUnwanted", "RecordInspection, none"},
		},
		"Blind": {
			reason: "it is looked at again with other rights, not with the same", history: []string{"MarkUnwanted", "RecordBlind"},
			want: answers{Inspected: true, BlindWithRights: true, Blind: true},
		},
		"SeesAgain": {
			reason: "with other rights everything could be looked at", history: []string{"MarkUnwanted", "RecordBlind", "RecordInspection, ours"},
		},
		"UnwantedAndServed": {
			reason: "it is worked on until it is cleaned up", history: []string{"StartWork", "MarkUnwanted"},
			want: answers{Working: true, Inspected: true, Busy: true, Inherits: uid},
		},
		"MissingAndServed": {
			reason: "the work on it brings it up", history: []string{"StartWork", "MarkMissing"},
			want: answers{Working: true, Busy: true, Inherits: uid},
		},
		"MissingWithoutWork": {
			reason: "nothing but the index knows that it is to be looked for", history: []string{"StartWork", "MarkMissing", "StopWork, seen"},
			want: answers{OutOfSight: true, Inherits: uid},
		},
		"ParentMissing": {
			reason: "only its child is known, which does not make its namespace busy", history: []string{"MarkParentMissing"},
			want: answers{OutOfSight: true, Inherits: uid},
		},
		"Stopped": {
			reason: "what is known of its work is gone", history: []string{"InheritOwner", "StartWork", "StopWork, seen"},
		},
		"Halted": {
			reason: "a halted policy stops its work, and the owner is still to be looked at", history: []string{"InheritOwner", "StartWork", "StopWork, halted"},
			want: answers{OutOfSight: true, Busy: true, Unseen: 1, Inherits: uid},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := indexAfter(map[types.NamespacedName][]string{alpha: tc.history, in("elsewhere", "alpha"): nil})
			if diff := cmp.Diff(tc.want, answersOf(x)); diff != "" {
				t.Errorf("%s: after %v (-want +got):\n%s", tc.reason, tc.history, diff)
			}
		})
	}
}

// TestDropUnseen: when streams of owners change, what is known of unwanted owners that none of them
// shows is dropped, but for what holds streams, and for what is known beside it.
func TestDropUnseen(t *testing.T) {
	cases := map[string]struct {
		reason  string
		history []string
		want    Phase
		holding bool
	}{
		"Clean":       {reason: "its stream would tell of it anew", history: []string{"MarkUnwanted, new"}, want: Unknown},
		"Ours":        {reason: "what is there is found again", history: []string{"MarkUnwanted", "RecordInspection, ours"}, want: Unknown},
		"Inspected":   {reason: "streams of children are open for it, which the caller gives back", history: []string{"MarkUnwanted"}, want: Inspected, holding: true},
		"Blind":       {reason: "the same", history: []string{"MarkUnwanted", "RecordBlind"}, want: Blind, holding: true},
		"CleaningUp":  {reason: "the work on it has streams as well", history: []string{"StartWork", "MarkUnwanted"}, want: CleaningUp, holding: true},
		"CleanAtWork": {reason: "that it is worked on stays", history: []string{"StartWork", "MarkUnwanted, new"}, want: Served},
		"Inherited":   {reason: "that it is to be looked at stays", history: []string{"InheritOwner", "MarkUnwanted, new"}, want: Inherited},
		"Served":      {reason: "it is wanted", history: []string{"StartWork"}, want: Served},
		"Missing":     {reason: "it is looked for by its name, whatever streams show", history: []string{"StartWork", "MarkMissing"}, want: Missing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen, unseen := in("seen", "owner"), in("unseen", "owner")
			x := indexAfter(map[types.NamespacedName][]string{seen: tc.history, unseen: tc.history})
			before := x.PhaseOf(seen)
			holding := x.DropUnseen(func(namespace string) bool { return namespace == "seen" })
			if got := x.PhaseOf(unseen); got != tc.want {
				t.Errorf("%s: the owner that no stream shows is %s, want %s", tc.reason, got, tc.want)
			}
			if got := x.PhaseOf(seen); got != before {
				t.Errorf("%s: the owner that a stream shows is %s, and was %s", tc.reason, got, before)
			}
			var want []types.NamespacedName
			if tc.holding {
				want = []types.NamespacedName{unseen}
			}
			if diff := cmp.Diff(want, holding, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: what still holds something (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBusyNamespaces: a namespace is busy as long as one owner in it is worked on, or is inherited.
func TestBusyNamespaces(t *testing.T) {
	x := indexAfter(map[types.NamespacedName][]string{
		in("worked", "a"): {"StartWork"}, in("worked", "b"): {"StartWork"}, in("inherited", "a"): {"InheritOwner"},
		in("both", "a"): {"StartWork"}, in("both", "b"): {"InheritOwner"}, in("unwanted", "a"): {"MarkUnwanted"}, in("missing", "a"): {"MarkParentMissing"},
	})
	busy := func() []string { return slices.Compact(slices.Sorted(x.BusyNamespaces())) }
	if diff := cmp.Diff([]string{"both", "inherited", "worked"}, busy()); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	x.StopWork(in("worked", "a"), true, false)
	x.StopWork(in("both", "a"), true, false)
	x.MarkLookedAt(in("inherited", "a"))
	if diff := cmp.Diff([]string{"both", "worked"}, busy()); diff != "" {
		t.Errorf("after one owner less in each (-want +got):\n%s", diff)
	}
	x.StopWork(in("worked", "b"), true, false)
	x.MarkLookedAt(in("both", "b"))
	if diff := cmp.Diff([]string{}, busy(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("without owners (-want +got):\n%s", diff)
	}
}

// TestIteratorsEnd: who has seen enough of the owners may stop, as range over a function demands: an
// iterator that goes on panics.
func TestIteratorsEnd(t *testing.T) {
	x := indexAfter(map[types.NamespacedName][]string{
		in("a", "worked"): {"StartWork"}, in("b", "worked"): {"StartWork"},
		in("c", "inherited"): {"InheritOwner"}, in("d", "inherited"): {"InheritOwner"},
		in("e", "blind"): {"RecordBlind"}, in("f", "blind"): {"RecordBlind"},
	})
	for name := range x.WorkingOwners() {
		if name.Name != "worked" {
			t.Errorf("%s is worked on", name)
		}
		break
	}
	for name := range x.OwnersOutOfSight() {
		if name.Name != "inherited" {
			t.Errorf("%s is out of sight", name)
		}
		break
	}
	for name := range x.BlindOwners() {
		if name.Name != "blind" {
			t.Errorf("%s is blind", name)
		}
		break
	}
	for _, enough := range []int{1, 3} { // among those that are worked on, and those that are inherited
		got := 0
		for range x.BusyNamespaces() {
			if got++; got == enough {
				break
			}
		}
		if got != enough {
			t.Errorf("it ended after %d of %d namespaces", got, enough)
		}
	}
}
