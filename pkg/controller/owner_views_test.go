package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/informer"
)

// ownerOf is an owner of which only the uid is known.
func ownerOf(uid types.UID) *unstructured.Unstructured {
	owner := &unstructured.Unstructured{}
	owner.SetUID(uid)
	return owner
}

// TestOlderView: a view that shows an owner as it was before the last reconcile is waited for,
// but not for ever: the resourceVersions may have begun anew.
func TestOlderView(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	op := idle(t, clock, compiled(t, "a", "1", "")).revisions.CurrentOf("ambit-system/a")
	name := types.NamespacedName{Namespace: "home", Name: "x"}
	at := func(version string) *unstructured.Unstructured {
		owner := ownerOf("uid")
		owner.SetResourceVersion(version)
		return owner
	}
	wait := func(want time.Duration, owner *unstructured.Unstructured) {
		t.Helper()
		if wait := (ownerTurn{op}).waitForNewer(name, owner); wait != want {
			t.Errorf("at %s: waits for %s, not %s", owner.GetResourceVersion(), wait, want)
		}
	}
	ownerTurn{op}.ownerStateOf(name, at("1000"), nil)
	wait(0, at("1000"))
	wait(0, at("1001"))
	wait(olderGrace, at("999"))
	clock.Step(olderGrace - time.Second)
	wait(time.Second, at("999"))
	wait(0, at("1000"))
	wait(olderGrace, at("999"))
	clock.Step(olderGrace)
	wait(0, at("999"))
	wait(0, at("not a number"))
	another := at("1")
	another.SetUID("another")
	wait(0, another)
}

// TestNamespacesThatCameAndWent: of namespaces that are watched together nothing stays when
// their last owner has gone; that one which is watched by itself had owners is remembered.
func TestNamespacesThatCameAndWent(t *testing.T) {
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.revisions.CurrentOf("ambit-system/a")
	live := func(stream, namespace string) {
		name := types.NamespacedName{Namespace: namespace, Name: "x"}
		owner := &unstructured.Unstructured{}
		owner.SetNamespace(name.Namespace)
		owner.SetName(name.Name)
		event := informer.Event{Key: informer.Key{Namespace: stream}, Type: informer.Added, Object: owner}
		op.Changed(event)
		if _, ok := (ownerTurn{op}).ownerStateOf(name, ownerOf("uid"), nil); !ok {
			t.Fatal("the owner has no state")
		}
		if key := (informer.Key{Namespace: namespace}); !op.ownerViews.StartScan(key) || op.ownerViews.StartScan(key) {
			t.Error("a stream is looked through once as long as there are owners")
		}
		event.Type = informer.Deleted
		op.Changed(event)
		op.forgetOwner(name)
	}
	for i := range 100 {
		namespace := fmt.Sprint("n-", i)
		live(allNamespaces, namespace)
		if op.ownerViews.HasServed(namespace) {
			t.Errorf("%s is gone, and what is missing there would be told", namespace)
		}
	}
	if known := op.owners.CountKnown(); known > 0 {
		t.Errorf("of owners that are gone, %d are known", known)
	}
	live("one", "one")
	if !op.ownerViews.HasServed("one") {
		t.Error("that nothing may be seen there any more would not be told")
	}
}
