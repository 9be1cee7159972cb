package ownerviews

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// listedIn are the owners of an Adoption as text, sorted.
func listedIn(a Adoption) string {
	var names []string
	for _, name := range a.Listed {
		names = append(names, name.String())
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestInstallViews: only owners in streams that are new, or were listed anew, are to be looked at.
func TestInstallViews(t *testing.T) {
	v := New(func(owner *unstructured.Unstructured) bool { return owner.GetName() != "unwanted" })
	a, b := synced(ownerAt("a", "x"), ownerAt("a", "unwanted")), &fakeView{}
	install := func(when string, all bool, want string, views map[string]View) Adoption {
		t.Helper()
		adoption := v.InstallViews(views, WatchScope{Watchable: []string{"a", "b"}}, all)
		if got := listedIn(adoption); got != want {
			t.Errorf("%s: to be looked at are %q, want %q", when, got, want)
		}
		return adoption
	}
	install("first", false, "a/x", map[string]View{"a": a, "b": b})
	install("nothing has changed", false, "", map[string]View{"a": a, "b": b})
	b.status, b.owners = informer.Status{Synced: true, Epoch: 1}, []*unstructured.Unstructured{ownerAt("b", "y")}
	adoption := install("one has its first list", false, "b/y", map[string]View{"a": a, "b": b})
	for namespace, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if got := adoption.ConcernsNamespace(namespace); got != want {
			t.Errorf("owners in %s that were worked on are concerned: %t", namespace, got)
		}
	}
	a.status.Epoch = 2
	install("one was listed anew", false, "a/x", map[string]View{"a": a, "b": b})
	install("all are to be looked at", true, "a/x b/y", map[string]View{"a": a, "b": b})
	install("one is replaced", false, "a/x", map[string]View{"a": synced(ownerAt("a", "x")), "b": b})
	adoption = install("there is none", false, "", nil)
	if !adoption.ConcernsNamespace("a") {
		t.Error("an owner that nothing shows any more is not concerned")
	}
}

// TestConcernsCluster: a stream of all namespaces shows each of them.
func TestConcernsCluster(t *testing.T) {
	v := New(wantsAll)
	everywhere := synced(ownerAt("a", "x"))
	scope := WatchScope{Watchable: []string{allNamespaces}}
	if first := v.InstallViews(map[string]View{allNamespaces: everywhere}, scope, false); !first.ConcernsNamespace("a") || !first.ConcernsNamespace("") {
		t.Error("what was worked on is not looked at when it takes over")
	}
	if again := v.InstallViews(map[string]View{allNamespaces: everywhere}, scope, false); again.ConcernsNamespace("a") {
		t.Error("nothing has changed")
	}
}

// TestRequireViews: a stream of all namespaces takes over when it is synced, not before.
func TestRequireViews(t *testing.T) {
	v := New(wantsAll)
	streams := map[string]*fakeView{allNamespaces: {}, "a": synced(), "b": synced()}
	var asked [][]string
	require := func(namespaces []string) map[string]View {
		asked = append(asked, namespaces)
		views := map[string]View{}
		for _, namespace := range namespaces {
			views[namespace] = streams[namespace]
		}
		return views
	}
	turn := func(when string, scope WatchScope, wantAsked [][]string, want ...string) {
		t.Helper()
		asked = nil
		views := v.RequireViews(scope, require)
		v.InstallViews(views, scope, false)
		var got []string
		for namespace := range views {
			got = append(got, namespace)
		}
		slices.Sort(got)
		if diff := cmp.Diff(wantAsked, asked); diff != "" {
			t.Errorf("%s: declared (-want +got):\n%s", when, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: installed (-want +got):\n%s", when, diff)
		}
	}
	everywhere := WatchScope{Watchable: []string{allNamespaces}}
	turn("two namespaces", WatchScope{Watchable: []string{"b", "a"}}, [][]string{{"a", "b"}}, "a", "b")
	turn("all are permitted", everywhere, [][]string{{allNamespaces, "a", "b"}}, "a", "b")
	streams[allNamespaces].status.Synced = true
	turn("and listed", everywhere, [][]string{{allNamespaces, "a", "b"}, {allNamespaces}}, allNamespaces)
	turn("as before", everywhere, [][]string{{allNamespaces}}, allNamespaces)
	turn("being reviewed", WatchScope{Undecided: []string{allNamespaces}}, [][]string{{allNamespaces}}, allNamespaces)
	turn("nowhere", WatchScope{}, [][]string{nil})
	streams[allNamespaces].status.Synced = false
	turn("all from the beginning", everywhere, [][]string{{allNamespaces}}, allNamespaces)
}

// TestRecordEvent: owners share their watches when there are more than a few in a namespace, and all are
// laid out anew then.
func TestRecordEvent(t *testing.T) {
	v := New(wantsAll)
	for i := range owners.ExactStreams {
		if again := v.RecordEvent(eventOf("a", informer.Added, "a", fmt.Sprint(i))); again != nil {
			t.Fatalf("owner %d changes the watches of %v", i, again)
		}
	}
	if again := v.RecordEvent(eventOf("a", informer.Added, "a", "more")); len(again) != owners.ExactStreams+1 || !v.SharesWatches("a") || v.SharesWatches("b") {
		t.Errorf("of one more the watches of %v are laid out anew, shared: %t", again, v.SharesWatches("a"))
	}
	if again := v.RecordEvent(eventOf("a", informer.Updated, "a", "unknown")); again != nil {
		t.Errorf("an update lays out the watches of %v anew", again)
	}
	var again []types.NamespacedName
	for i := range owners.ExactStreams {
		if now := v.RecordEvent(eventOf("a", informer.Deleted, "a", fmt.Sprint(i))); now != nil {
			again = now
		}
	}
	if len(again) == 0 || v.SharesWatches("a") {
		t.Errorf("of a few that are left the watches of %v are laid out anew, shared: %t", again, v.SharesWatches("a"))
	}
}

// TestSpread: owners in more than a few namespaces are spread, until they are in half as many; all of them are
// laid out anew at both times. When streams are installed anew it stays so.
func TestSpread(t *testing.T) {
	v := New(wantsAll)
	event := func(kind informer.EventType, i int) int {
		return len(v.RecordEvent(eventOf(allNamespaces, kind, fmt.Sprint("ns-", i), "one")))
	}
	for i := range owners.WideSpread {
		if again := event(informer.Added, i); again != 0 || v.IsSpread() {
			t.Fatalf("namespace %d: %d owners are laid out anew, spread: %t", i, again, v.IsSpread())
		}
	}
	if again := event(informer.Added, owners.WideSpread); again != owners.WideSpread+1 || !v.IsSpread() {
		t.Errorf("one more: %d owners are laid out anew, spread: %t", again, v.IsSpread())
	}
	left := owners.WideSpread / 2
	for i := owners.WideSpread; i > left; i-- {
		if again := event(informer.Deleted, i); again != 0 || !v.IsSpread() {
			t.Errorf("without namespace %d: %d owners are laid out anew, spread: %t", i, again, v.IsSpread())
		}
	}
	var listed []*unstructured.Unstructured
	for i := range left + 1 {
		listed = append(listed, ownerAt(fmt.Sprint("ns-", i), "one"))
	}
	v.InstallViews(map[string]View{allNamespaces: synced(listed...)}, WatchScope{Watchable: []string{allNamespaces}}, false)
	if !v.IsSpread() {
		t.Error("with other streams they are not spread any more")
	}
	if again := event(informer.Deleted, left); again != left || v.IsSpread() {
		t.Errorf("in half as many: %d owners are laid out anew, spread: %t", again, v.IsSpread())
	}
}

// TestServed: a namespace in which an owner was seen is remembered, unless it was watched with all others
// or is not looked at any more.
func TestServed(t *testing.T) {
	v := New(wantsAll)
	served := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, v.servedNamespaces()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	v.InstallViews(map[string]View{"a": synced(ownerAt("a", "x"))}, WatchScope{}, false)
	served("listed", "a")
	v.RecordEvent(eventOf("b", informer.Added, "b", "x"))
	v.RecordEvent(eventOf("b", informer.Deleted, "b", "x"))
	served("came and went by itself", "a", "b")
	v.RecordEvent(eventOf(allNamespaces, informer.Added, "c", "x"))
	v.RecordEvent(eventOf(allNamespaces, informer.Added, "c", "y"))
	v.RecordEvent(eventOf(allNamespaces, informer.Deleted, "c", "x"))
	served("one is left", "a", "b", "c")
	v.RecordEvent(eventOf(allNamespaces, informer.Deleted, "c", "y"))
	served("came and went with all others", "a", "b")
	v.SetCandidates(nil)
	served("none is looked at by itself", "a", "b")
	next := New(wantsAll)
	next.InheritServed(v)
	if !next.HasServed("a") || next.HasServed("c") {
		t.Error("the next revision knows something else")
	}
	v.SetCandidates([]string{"b"})
	served("one is not looked at any more", "b")
	v.SetCandidates([]string{})
	served("none is looked at any more")
}

// TestManyNamespaces: of namespaces that are watched together nothing stays when their last owner is gone.
func TestManyNamespaces(t *testing.T) {
	v := New(wantsAll)
	for i := range 100 {
		namespace := fmt.Sprint("n-", i)
		v.RecordEvent(eventOf(allNamespaces, informer.Added, namespace, "x"))
		v.StartScan(informer.Key{Namespace: namespace})
		v.RecordEvent(eventOf(allNamespaces, informer.Deleted, namespace, "x"))
		v.ForgetScans(namespace)
	}
	if len(v.served)+len(v.scanned)+len(v.groups) > 0 {
		t.Errorf("served: %d, scanned: %d, groups: %d", len(v.served), len(v.scanned), len(v.groups))
	}
}

// TestStartScan: a stream of children is looked through once, as long as its namespace is seen.
func TestStartScan(t *testing.T) {
	v := New(wantsAll)
	a, b := informer.Key{Namespace: "a"}, informer.Key{Namespace: "b"}
	starts := func(when string, key informer.Key, want bool) {
		t.Helper()
		if got := v.StartScan(key); got != want {
			t.Errorf("%s: starts: %t", when, got)
		}
	}
	starts("first", a, true)
	starts("again", a, false)
	starts("another stream there", informer.Key{Namespace: "a", LabelSelector: "x"}, true)
	v.ForgetScans("b")
	starts("another namespace is forgotten", a, false)
	v.ForgetScans("a")
	starts("it is forgotten", a, true)
	starts("elsewhere", b, true)
	stays := synced()
	v.InstallViews(map[string]View{"a": stays, "b": synced()}, WatchScope{}, false)
	starts("both are watched", a, false)
	v.InstallViews(map[string]View{"a": stays}, WatchScope{}, false)
	starts("it is still watched", a, false)
	starts("its stream was gone", b, true)
	v.InstallViews(nil, WatchScope{}, false)
	starts("there was no stream at all", b, true)
}

// TestOneStep: an owner that comes when a stream was read has to wait until the streams are taken over.
// Else it would be in no list, and its event would be noted beside the streams that go.
func TestOneStep(t *testing.T) {
	v := New(wantsAll)
	view := synced()
	reads := 0
	view.onRead = func() {
		reads++
		if v.mu.TryLock() {
			v.mu.Unlock()
			t.Error("an owner that comes now is lost")
			return
		}
		// The lock is this goroutine's, and is held until the streams are taken over: or they are already.
		if v.current["a"] != View(view) {
			t.Error("an owner that comes after this reading is in no list, and its event finds the streams that go")
		}
	}
	v.InstallViews(map[string]View{"a": view}, WatchScope{}, false)
	if reads != 1 {
		t.Errorf("the stream was read %d times", reads)
	}
}

// TestNoOwnerLost: an owner that comes while streams are installed is among those to be looked at, or
// finds the streams: in either case it is counted.
func TestNoOwnerLost(t *testing.T) {
	const names = owners.ExactStreams + 1
	for range 50 {
		v := New(wantsAll)
		view := synced()
		var all sync.WaitGroup
		for i := range names {
			all.Go(func() { // as a stream does: first it shows the owner, then it says so
				view.addOwner(ownerAt("a", fmt.Sprint(i)))
				v.RecordEvent(eventOf("a", informer.Added, "a", fmt.Sprint(i)))
			})
		}
		all.Go(func() { v.InstallViews(map[string]View{"a": view}, WatchScope{}, false) })
		all.Go(func() { v.IsSeen("a"); v.SharesWatches("a"); v.HasListed(true); v.DescribeServing() })
		all.Wait()
		if !v.SharesWatches("a") {
			t.Fatalf("of %d owners some were lost", names)
		}
	}
}
