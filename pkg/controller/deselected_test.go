package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/test/policytext"
)

// TestRetireDeparted: an owner that has stopped matching, so that the stream of owners does
// not show it, and whose policy is deleted before it was cleaned up after it, is looked for
// all the same; the policy is not done before.
func TestRetireDeparted(t *testing.T) {
	program := policytext.Compile(t, "a.yaml", `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: a, namespace: ambit-system}
spec:
  owner: {apiVersion: a.example.com/v1, kind: Thing, selector: {matchLabels: {served: "true"}}}
  children:
    - id: child
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}}
`)
	e := idleWith(t, serverOf(program), clocktesting.NewFakeClock(time.Unix(1000, 0)), program)
	before := e.revisions.EnterCurrent("ambit-system/a").Value()
	before.kinds.HaveLookedUp()
	e.discovery.PollRound(t.Context())
	x := types.NamespacedName{Namespace: "n", Name: "x"}
	before.owners.MarkParentMissing(x, "x")
	e.leaveRevision(before, Key{Policy: before.id})
	set(t, e, program, true)
	op := e.revisions.CurrentOf("ambit-system/a")
	seesNothing(op)
	if _, done := e.RetiredOf(op.id); done {
		t.Error("it is done, and nobody has looked for an owner that it worked on")
	}
	if _, _, wait := (ownerTurn{op}).resolveIntent(t.Context(), x, nil); wait == 0 {
		t.Error("the owner is not looked for")
	}
	op.forgetOwner(x) // when it was found to be gone, or was cleaned up after
	if _, done := e.RetiredOf(op.id); !done {
		t.Error("it is never done")
	}
}
