package informer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(request{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// events is a list of what a recorder was told; nil for none.
func events(told ...string) []string { return told }

func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.put(thing("a", "1"))
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		view := s.Require(sub, []Interest{needOf("ns")})[0]

		expect(t, "the first list is announced as a whole", events("Synced"), sub.take())
		expect(t, "state", Live, view.State())
		expect(t, "requests", []request{{"watch", "", true}}, api.take())

		api.put(thing("b", "1"))
		expect(t, "create", events("Added b"), sub.take())
		api.put(thing("b", "2"))
		expect(t, "change", events("Updated b"), sub.take())
		expect(t, "changed", "2", view.Get("ns", "b").Object["spec"])

		quiet := thing("b", "2")
		quiet.Object["status"] = "not kept"
		quiet.SetManagedFields(nil)
		quiet = api.put(quiet)
		expect(t, "a change of what nobody reads", events(), sub.take())
		expect(t, "its resourceVersion", quiet.GetResourceVersion(), view.Get("ns", "b").GetResourceVersion())

		api.remove("b")
		expect(t, "delete", events("Deleted b"), sub.take())
		expect(t, "what is left", 1, len(view.List()))

		s.Require(sub, nil)
		synctest.Wait()
		expect(t, "watches after the last release", 0, len(api.copyWatches()))
		expect(t, "view after the last release", Stopped, view.State())
		expect(t, "objects after the last release", 0, len(view.List()))
		expect(t, "streams after the last release", 0, len(s.States()))
	})
}

func TestOneStreamForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		one, two := &recorder{}, &recorder{}
		s.Require(one, []Interest{needOf("ns")})
		s.Require(one, []Interest{needOf("ns"), needOf("ns")})
		expect(t, "first subscriber", events("Synced"), one.take())
		view := s.Require(two, []Interest{needOf("ns")})[0]
		expect(t, "a second subscriber finds it synced", true, view.Synced())
		expect(t, "and is told nothing", events(), two.take())
		expect(t, "requests", 1, len(api.take()))

		s.Require(one, nil)
		api.put(thing("a", "1"))
		expect(t, "released", events(), one.take())
		expect(t, "kept", events("Added a"), two.take())
	})
}

func TestNeedsThatRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		views := s.Require(sub, []Interest{needOf("ns"), needOf("ns")})
		expect(t, "views", true, len(views) == 2 && views[0] == views[1])
		expect(t, "told once", events("Synced"), sub.take())
		s.Require(sub, []Interest{needOf("ns"), needOf("ns"), needOf("ns")})
		expect(t, "needs", 1, s.States()[0].Needs)
		s.Require(sub, nil)
		expect(t, "streams", 0, len(s.States()))
	})
}

func TestReleasedBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, other := newServer(), newServer()
		s := testSet(map[string]*server{"ns": api, "other": other}, Options{})
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns"), needOf("other")})
		s.Require(sub, []Interest{needOf("other")})
		defer begin(t, s)()
		synctest.Wait()
		expect(t, "requests", []int{0, 1}, []int{len(api.take()), len(other.take())})
	})
}

func TestIndexedNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.put(labelled(thing("a", "1"), "owner", "one"))
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		indexed := func(value string) Interest {
			need := needOf("ns")
			need.IndexLabel, need.IndexValue = "owner", value
			return need
		}
		one, two, all := &recorder{}, &recorder{}, &recorder{}
		viewOne := s.Require(one, []Interest{indexed("one")})[0]
		synctest.Wait()
		viewTwo := s.Require(two, []Interest{indexed("two")})[0]
		s.Require(all, []Interest{needOf("ns")})
		expect(t, "requests", 1, len(api.take()))
		expect(t, "first list", []int{1, 0}, []int{len(viewOne.List()), len(viewTwo.List())})
		one.take()

		api.put(labelled(thing("b", "1"), "owner", "two"))
		expect(t, "of another value", events(), one.take())
		expect(t, "of its value", events("Added b"), two.take())
		expect(t, "of any value", events("Added b"), all.take())

		api.put(labelled(thing("b", "1"), "owner", "one"))
		expect(t, "moved to", events("Updated b"), one.take())
		expect(t, "moved from", events("Updated b"), two.take())
		expect(t, "after the move", []int{2, 0}, []int{len(viewOne.List()), len(viewTwo.List())})
		if viewTwo.Get("ns", "b") != nil {
			t.Error("an indexed view shows an object of another value")
		}

		api.put(thing("b", "1"))
		expect(t, "without the label", events("Updated b"), one.take())
		api.remove("a")
		expect(t, "deleted", events("Deleted a"), one.take())
		s.Require(one, nil)
		expect(t, "a view after release", 0, len(viewOne.List()))
	})
}

func TestKeepIsADifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newServer(), newServer()
		s := testSet(map[string]*server{"ns": first, "other": second}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		s.Require(sub, []Interest{needOf("ns")})
		synctest.Wait()
		views := s.Require(sub, []Interest{needOf("other"), needOf("ns")})
		synctest.Wait()
		expect(t, "order of the views", []string{"other", "ns"}, []string{views[0].informer.key.Namespace, views[1].informer.key.Namespace})
		s.Require(sub, []Interest{needOf("other")})
		synctest.Wait()
		expect(t, "what was kept was not touched", 1, len(second.take()))
		expect(t, "what was not is closed", 0, len(first.copyWatches()))
	})
}

func TestFreeThenNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.put(thing("a", "1"))
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub := &recorder{}
		var epoch uint64
		for i := range 50 {
			view := s.Require(sub, []Interest{needOf("ns")})[0]
			if i%3 == 0 {
				synctest.Wait()
			}
			if i%2 == 0 {
				s.Require(sub, nil)
				view = s.Require(sub, []Interest{needOf("ns")})[0]
			}
			synctest.Wait()
			status := view.Status()
			if status.State != Live || status.Epoch <= epoch || view.Get("ns", "a") == nil {
				t.Fatalf("round %d: state %s, epoch %d after %d", i, status.State, status.Epoch, epoch)
			}
			expect(t, "open watches", 1, len(api.copyWatches()))
			epoch = status.Epoch
			s.Require(sub, nil)
		}
	})
}

func TestNothingRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := map[string]*server{}
		for i := range 50 {
			servers[fmt.Sprint("ns-", i)] = newServer()
		}
		s := testSet(servers, Options{})
		stop := begin(t, s)
		sub := &recorder{}
		var needs []Interest
		for namespace := range servers {
			needs = append(needs, needOf(namespace))
		}
		s.Require(sub, needs)
		synctest.Wait()
		expect(t, "streams", 50, len(s.States()))
		s.Require(sub, nil)
		synctest.Wait()
		for namespace, api := range servers {
			expect(t, "watches of "+namespace, 0, len(api.copyWatches()))
		}
		s.Require(sub, needs)
		synctest.Wait()
		stop()
		for _, status := range s.States() {
			expect(t, "state after the end", Stopped, status.State)
		}
		late := s.Require(&recorder{}, []Interest{needOf("late")})
		expect(t, "a need after the end", Stopped, late[0].State())
	})
}

func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newServer(), newServer()
		first.put(thing("a", "1"))
		second.fails(statusError(403, "Forbidden"))
		s := testSet(map[string]*server{"ns": first, "zz": second}, Options{})
		defer begin(t, s)()
		start := time.Now()
		s.Require(&recorder{}, []Interest{needOf("zz"), needOf("ns")})
		synctest.Wait()
		got := s.States()
		for i := range got {
			got[i].Err = nil
			if got[i].Epoch == 0 {
				t.Error("no epoch")
			}
			got[i].Epoch = 0
			if (got[i].Bytes > 0) != (got[i].Objects > 0) {
				t.Errorf("%d objects take %d bytes", got[i].Objects, got[i].Bytes)
			}
			got[i].Bytes = 0
		}
		expect(t, "states", []KeyStatus{
			{Key: needOf("ns").Key, Status: Status{State: Live, Synced: true, Since: start}, Objects: 1, Needs: 1},
			{Key: needOf("zz").Key, Status: Status{State: Forbidden, Reason: "Forbidden", Message: "Forbidden", Since: start}, Needs: 1},
		}, got)
	})
}

func TestStartTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testSet(nil, Options{})
		stop := begin(t, s)
		synctest.Wait()
		if err := s.Start(t.Context()); err == nil {
			t.Error("a second Start succeeded")
		}
		stop()
	})
}

func TestZeroView(t *testing.T) {
	var view Lister
	var none *unstructured.Unstructured
	expect(t, "state", Stopped, view.State())
	expect(t, "list", 0, len(view.List()))
	expect(t, "get", none, view.Get("ns", "a"))
}

// TestVersions: handlers that ask for it are told of changes of which nothing
// is kept, once each.
func TestVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		sub, other := &recorder{}, &recorder{}
		need := needOf("ns")
		need.Key.Form.Versions = true
		s.Require(sub, []Interest{need})
		s.Require(other, []Interest{needOf("ns")})
		expect(t, "two streams", 2, len(s.States()))
		sub.take()
		other.take()
		object := thing("a", "1")
		api.put(object)
		expect(t, "create", events("Added a"), sub.take())
		expect(t, "create", events("Added a"), other.take())
		written := api.put(object)
		expect(t, "only the resourceVersion changed", events("Updated a"), sub.take())
		expect(t, "only the resourceVersion changed", events(), other.take())
		s.Observe(need.Key, written)
		expect(t, "known already", events(), sub.take())
		api.end(statusError(410, "Expired"))
		expect(t, "listed again, unchanged", events(), sub.take())
	})
}
