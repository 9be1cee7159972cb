package ownerviews

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/informer"
)

func TestViewOf(t *testing.T) {
	v := New(wantsAll)
	if v.IsSeen("a") || v.ViewOf("a") != nil || v.StreamOf("a") != allNamespaces {
		t.Error("there is no stream, and something is seen")
	}
	own, everywhere := synced(), synced()
	v.InstallViews(map[string]View{"a": own}, WatchScope{}, false)
	if v.ViewOf("a") != own || v.StreamOf("a") != "a" || v.IsSeen("b") || v.ViewOf(allNamespaces) != nil {
		t.Error("a namespace with a stream of its own")
	}
	v.InstallViews(map[string]View{allNamespaces: everywhere}, WatchScope{}, false)
	if v.ViewOf("a") != everywhere || v.StreamOf("a") != allNamespaces || !v.IsSeen("b") {
		t.Error("a stream of all namespaces shows each of them")
	}
}

func TestReadOwner(t *testing.T) {
	x := ownerAt("a", "x")
	cases := map[string]struct {
		reason string
		view   *fakeView // nil: there is none
		owner  *unstructured.Unstructured
		live   bool
	}{
		"There":      {reason: "the stream shows it", view: synced(x), owner: x, live: true},
		"Absent":     {reason: "the stream is live, so it is gone", view: synced(), live: true},
		"NotListed":  {reason: "it may be there", view: &fakeView{}},
		"NoStream":   {reason: "nothing shows it"},
		"LostInside": {reason: "the stream was refused between its status and the object", view: &fakeView{status: informer.Status{Synced: true}, owners: []*unstructured.Unstructured{x}, gone: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(wantsAll)
			var want View
			if tc.view != nil {
				want = tc.view
				v.InstallViews(map[string]View{"a": tc.view}, WatchScope{}, false)
			}
			owner, from, live := v.ReadOwner("a", "x")
			if owner != tc.owner || live != tc.live || from != want {
				t.Errorf("%s: got %v, live %t, from %v", tc.reason, owner, live, from)
			}
		})
	}
}

func TestIsOutside(t *testing.T) {
	v := New(wantsAll)
	if v.IsOutside("a") {
		t.Error("nobody has looked yet where owners can be")
	}
	v.InstallViews(nil, WatchScope{Watchable: []string{"a"}}, false)
	if v.IsOutside("a") || !v.IsOutside("b") {
		t.Error("only a is in the scope")
	}
}

func TestHasListed(t *testing.T) {
	cases := map[string]struct {
		reason     string
		views      map[string]View
		unresolved bool
		// listed: each stream has its first list; settled: or was refused for good.
		listed, settled bool
	}{
		"Listed":     {reason: "all are there", views: map[string]View{"a": synced()}, listed: true, settled: true},
		"None":       {reason: "there is nothing to wait for", listed: true, settled: true},
		"Syncing":    {reason: "the first list is to come", views: map[string]View{"a": synced(), "b": &fakeView{}}},
		"Refused":    {reason: "there will be no list", views: map[string]View{"a": synced(), "b": &fakeView{status: informer.Status{State: informer.Forbidden}}}, settled: true},
		"Unresolved": {reason: "there may be other streams", views: map[string]View{"a": synced()}, unresolved: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(wantsAll)
			v.SetResolved(!tc.unresolved)
			if v.HasListed(true) {
				t.Error("nothing was installed yet")
			}
			v.InstallViews(tc.views, WatchScope{}, false)
			if got := v.HasListed(false); got != tc.listed {
				t.Errorf("%s: listed: %t", tc.reason, got)
			}
			if got := v.HasListed(true); got != tc.settled {
				t.Errorf("%s: listed or refused: %t", tc.reason, got)
			}
		})
	}
}

func TestSeesNowhere(t *testing.T) {
	cases := map[string]struct {
		reason     string
		resolved   bool
		views      map[string]View
		candidates []string
		want       bool
	}{
		"Nowhere":      {reason: "no namespace may be watched", resolved: true, candidates: []string{"a"}, want: true},
		"Unresolved":   {reason: "it may yet be", candidates: []string{"a"}},
		"Somewhere":    {reason: "one may", resolved: true, views: map[string]View{"a": synced()}, candidates: []string{"a", "b"}},
		"NoNamespaces": {reason: "there are none to watch", resolved: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(wantsAll)
			v.SetResolved(tc.resolved)
			v.SetCandidates(tc.candidates)
			v.InstallViews(tc.views, WatchScope{}, false)
			if got := v.SeesNowhere(); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

func TestCountOwners(t *testing.T) {
	cases := map[string]struct {
		reason     string
		views      map[string]View
		scope      WatchScope
		unresolved bool
		n          int
		complete   bool
	}{
		"All":         {reason: "each stream is there", views: map[string]View{"a": synced(ownerAt("a", "x"), ownerAt("a", "done")), "b": synced(ownerAt("b", "y"))}, scope: WatchScope{Watchable: []string{"a", "b"}}, n: 2, complete: true},
		"None":        {reason: "nothing may be watched, and nothing is", complete: true},
		"Unresolved":  {reason: "there may be other streams", unresolved: true},
		"Syncing":     {reason: "the first list is to come", views: map[string]View{"a": &fakeView{}}, scope: WatchScope{Watchable: []string{"a"}}},
		"NotTakenYet": {reason: "the stream of all namespaces is not installed before its first list", views: map[string]View{"a": synced(ownerAt("a", "x"))}, scope: WatchScope{Watchable: []string{allNamespaces}}, n: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(wantsAll)
			v.SetResolved(!tc.unresolved)
			v.InstallViews(tc.views, tc.scope, false)
			n, complete := v.CountOwners(func(owner *unstructured.Unstructured) bool { return owner.GetName() != "done" })
			if n != tc.n || complete != tc.complete {
				t.Errorf("%s: got %d, complete: %t", tc.reason, n, complete)
			}
		})
	}
}

func TestDescribeServing(t *testing.T) {
	v := New(wantsAll)
	v.SetCandidates([]string{"a", "b", "c"})
	if !v.IsCandidate("b") || v.IsCandidate("d") {
		t.Error("owners are looked for in a, b and c")
	}
	serves := func(when string, want Serving, known bool, views map[string]View) {
		t.Helper()
		v.InstallViews(views, WatchScope{}, false)
		got, ok := v.DescribeServing()
		if diff := cmp.Diff(want, got); diff != "" || ok != known {
			t.Errorf("%s: known: %t (-want +got):\n%s", when, ok, diff)
		}
	}
	serves("nothing", Serving{Candidates: 3}, true, nil)
	serves("two", Serving{Namespaces: []string{"a", "b"}, Owners: 1, Candidates: 3}, true, map[string]View{
		"b": &fakeView{status: informer.Status{State: informer.Forbidden}}, "a": synced(ownerAt("a", "x"))})
	serves("one is to come", Serving{}, false, map[string]View{"a": synced(), "b": &fakeView{}})
	v.SetCandidates(nil)
	serves("all", Serving{Namespaces: []string{"all"}}, true, map[string]View{allNamespaces: synced()})
}
