package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// TestKindsOfRecords: a kind that only records of owners name is looked up as long as an
// owner needs it, and then no more.
func TestKindsOfRecords(t *testing.T) {
	server := &fakeServer{}
	e := idleWith(t, server, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.revisions.currentOf("ambit-system/a")
	op.haveLookedUpKinds()
	mine := op.program.Owner.GVK
	wanted := func(when string, want bool) {
		t.Helper()
		if ok := slices.Contains(server.wanted(t, e), thing.GroupKind()); ok != want {
			t.Errorf("%s: it is looked up: %t", when, ok)
		}
		if about := len(op.recordedKinds.ownersOf(map[schema.GroupKind]bool{thing.GroupKind(): true})) > 0; about != want {
			t.Errorf("%s: its owners would be told of it: %t", when, about)
		}
	}
	// reconcile is a reconcile over an owner that has, or has not, one object of the kind in its record.
	pass := func(name types.NamespacedName, records bool) {
		state, _ := op.ownerStateOf(name, ownerOf("uid"), informer.Lister{})
		state.inputs = newOwnerInputs()
		l := &inputPlanner{policyController: op, name: name, s: state.inputs}
		l.findKind(mine, true)
		if records {
			l.findKind(thing, true)
		}
		op.newOwnerReconciler(nil, state, false).releaseUnusedKinds()
	}
	x, y := types.NamespacedName{Namespace: "n", Name: "x"}, types.NamespacedName{Namespace: "n", Name: "y"}
	wanted("at first", false)
	pass(x, true)
	pass(y, true)
	wanted("two owners need it", true)
	e.discovery.PollRound(t.Context())
	pass(x, false)
	wanted("one of them does", true)
	op.forgetOwner(y)
	wanted("it is gone, too", false)

	pass(x, true)
	pass(x, true)
	wanted("an owner needs it again", true)
	p := op.newOwnerReconciler(nil, newOwnerState(op.subscriberFor(x)), false)
	p.state.inputs = newOwnerInputs()
	p.seekKind(thing)
	p.releaseUnusedKinds()
	wanted("it was looked up for one object", true)
	if !slices.Contains(server.wanted(t, e), mine.GroupKind()) {
		t.Error("the policy's own kind is not looked up any more")
	}
	op.releaseAll()
	wanted("the policy is gone", false)
}

// TestRecordsHoldNoLockOverKinds: while records ask whether a kind was answered, others may
// read them.
func TestRecordsHoldNoLockOverKinds(t *testing.T) {
	var r recordedKinds
	for i := range 2 * ownerRecordKinds {
		gvk := schema.GroupVersionKind{Group: "g.example.com", Version: "v1", Kind: fmt.Sprintf("K%d", i)}
		r.addKind(types.NamespacedName{Name: "x"}, gvk, func(schema.GroupVersionKind) bool {
			if !r.mu.TryLock() {
				t.Fatal("a lock is held")
			}
			r.mu.Unlock()
			return i%2 == 0
		})
	}
}

// TestRecordedKindsAreBounded: of kinds that only records name some are looked up at a
// time, and an owner that names many takes nothing from one that names few.
func TestRecordedKindsAreBounded(t *testing.T) {
	server := &fakeServer{}
	e := idleWith(t, server, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.revisions.currentOf("ambit-system/a")
	kindOf := func(owner string, i int) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: owner}
	}
	name := func(owner string) types.NamespacedName {
		if crowded, ok := strings.CutPrefix(owner, "Crowd"); ok {
			return types.NamespacedName{Namespace: "crowd", Name: crowded}
		}
		return types.NamespacedName{Namespace: owner, Name: owner}
	}
	admitted := func(owner string, n int) (count int) {
		for i := range n {
			if _, problem := op.kindFor(name(owner), kindOf(owner, i)); problem.Reason != v1alpha1.ReasonLimitExceeded {
				count++
			}
		}
		return count
	}
	for _, hostile := range []string{"A", "B", "C", "D"} {
		if n := admitted(hostile, 3000); n != ownerRecordKinds {
			t.Errorf("an owner has %d kinds looked up", n)
		}
	}
	if n := len(server.wanted(t, e)); n != policyRecordKinds {
		t.Errorf("%d kinds are looked up", n)
	}
	if n := admitted("Victim", 3); n != 3 {
		t.Errorf("the owner that names three has %d looked up", n)
	}
	for _, hostile := range []string{"A", "B", "C", "D"} {
		admitted(hostile, 3000)
	}
	if n := admitted("Victim", 3); n != 3 || len(server.wanted(t, e)) > policyRecordKinds {
		t.Errorf("later the owner that names three has %d looked up, of %d", n, len(server.asked))
	}
	for range 3000 / ownerRecordKinds {
		e.discovery.PollRound(t.Context())
		admitted("A", 3000)
	}
	if n := admitted("A", 3000); n < 3000-ownerRecordKinds {
		t.Errorf("after all answers an owner has had %d looked up", n)
	}
	op.releaseAllKinds(name("A"))
	if n := admitted("E", 3000); n < policyRecordKinds/5 {
		t.Errorf("there is room again, and an owner has %d looked up", n)
	}
	for _, owner := range []string{"A", "B", "C", "D", "E", "Victim"} {
		op.releaseAllKinds(name(owner))
	}
	for i := range 100 {
		admitted(fmt.Sprint("Crowd", i), 3)
	}
	if n := len(server.wanted(t, e)); n != tenantRecordKinds {
		t.Errorf("for the owners of one namespace %d kinds are looked up", n)
	}
	if n := admitted("Victim", 3); n != 3 {
		t.Errorf("beside them the owner that names three has %d looked up", n)
	}
	for i := range 2 * tenantRecordKinds {
		for _, namespace := range []string{"x", "y", "z"} {
			op.kindFor(types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}, kindOf(namespace, i))
		}
	}
	if n := admitted("Late", 3); n != 3 || len(server.wanted(t, e)) != policyRecordKinds {
		t.Errorf("beside four namespaces of owners with one each the owner that names three has %d looked up", n)
	}
	for i := range 2 * tenantRecordKinds {
		for _, namespace := range []string{"x", "y", "z"} {
			op.releaseAllKinds(types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)})
		}
	}
	op.releaseAllKinds(name("Late"))
	for i := range 100 {
		op.releaseAllKinds(name(fmt.Sprint("Crowd", i)))
	}
	op.releaseAllKinds(name("Victim"))
	if len(server.wanted(t, e))+len(op.recordedKinds.byOwner)+len(op.recordedKinds.searched)+len(op.recordedKinds.owners) > 0 {
		t.Errorf("all are gone: %d kinds are looked up", len(server.asked))
	}
}
