package controller

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestUnwantMet: a kind that is not the policy's, but one of what it has made, is looked up
// when the version is gone whose kind it was.
func TestUnwantMet(t *testing.T) {
	a, b := compiled(t, "a", "1", ""), compiled(t, "b", "1", "")
	server := &fakeServer{}
	e := idleWith(t, server, clocktesting.NewFakeClock(time.Unix(1000, 0)), a, b)
	e.leaveRevision(e.revisions.EnterCurrent("ambit-system/b").Value(), Key{Policy: "ambit-system/b"})
	e.revisions.CurrentOf("ambit-system/a").kinds.ResolveFor(types.NamespacedName{Name: "x"}, b.Owner.GVK) // that of an object of a record
	set(t, e, a, false)
	if !slices.Contains(server.wanted(t, e), b.Owner.GVK.GroupKind()) {
		t.Error("an owner of another policy has something of that kind, and nobody looks it up any more")
	}
	if len(e.revisions.CurrentOf("ambit-system/a").kinds.OwnersOf(map[schema.GroupKind]bool{b.Owner.GVK.GroupKind(): true})) == 0 {
		t.Error("it would not be told of it")
	}
}
