package controller

import (
	"cmp"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/objecttext"
	"github.com/ambit-dev/ambit/test/policytext"
)

// intents are the names of intents in tables.
var intents = map[intent]string{
	intentIgnore: "ignore", intentReconcile: "reconcile", intentCleanUp: "clean up", intentUnknown: "unknown", intentInspect: "inspect",
}

// picky is a policy that wants owners of size 1, in all namespaces but one.
func picky(t *testing.T) *policy.Program {
	t.Helper()
	return policytext.Compile(t, "a.yaml", `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: a, namespace: ambit-system}
spec:
  owner: {apiVersion: a.example.com/v1, kind: Thing, filter: 1 / object.spec.size == 1}
  scope: {exclude: [out]}
  children:
    - id: child
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}}
`)
}

// TestIntentFor: what there is to do for an owner follows from whether the policy wants it, whether it or the policy
// goes, whose marks it has, and what was done for it before. The process began at 1000 s.
func TestIntentFor(t *testing.T) {
	const wanted, unwanted, unknown = "spec: {size: 1}", "spec: {size: 2}", "spec: {size: 0}"
	worked := func(turn ownerTurn, name types.NamespacedName, owner *unstructured.Unstructured) {
		turn.ownerStateOf(name, owner, nil)
	}
	cases := map[string]struct {
		reason    string
		spec      string // nothing: the owner is gone
		namespace string // home, unless said
		marked    bool   // it has the finalizer
		deleting  bool
		young     bool // it was made while the process runs
		broken    bool // the policy does not compile
		retiring  bool // the policy goes
		before    func(turn ownerTurn, name types.NamespacedName, owner *unstructured.Unstructured)
		want      string
	}{
		"Gone":               {reason: "there is no owner", want: "ignore"},
		"Wanted":             {reason: "it is as the filter says", spec: wanted, want: "reconcile"},
		"WantedDeleting":     {reason: "nothing of it is held, and nothing new is made", spec: wanted, deleting: true, want: "reconcile"},
		"HeldDeleting":       {reason: "it waits for its cleanup", spec: wanted, marked: true, deleting: true, want: "reconcile"},
		"UnwantedDeleting":   {reason: "so does one that the filter does not have any more", spec: unwanted, marked: true, deleting: true, want: "reconcile"},
		"Filtered":           {reason: "an earlier run may have made something for it", spec: unwanted, want: "inspect"},
		"FilteredYoung":      {reason: "no run was there before it", spec: unwanted, young: true, want: "ignore"},
		"FilteredMarked":     {reason: "an earlier run has made something for it", spec: unwanted, marked: true, want: "clean up"},
		"FilteredWorkedOn":   {reason: "this run has made something for it", spec: unwanted, young: true, before: worked, want: "clean up"},
		"FilterFails":        {reason: "nothing is concluded from an error", spec: unknown, want: "unknown"},
		"FilterFailsMarked":  {reason: "nor is anything removed", spec: unknown, marked: true, want: "unknown"},
		"FilterMissesField":  {reason: "an owner without the field is not wanted", spec: "spec: {}", young: true, want: "ignore"},
		"OutOfScope":         {reason: "the filter is not asked", spec: unknown, namespace: "out", young: true, want: "ignore"},
		"OutOfScopeMarked":   {reason: "the scope has become smaller", spec: wanted, namespace: "out", marked: true, want: "clean up"},
		"BrokenWanted":       {reason: "a policy that does not compile makes nothing, and keeps what is there", spec: wanted, marked: true, broken: true, want: "ignore"},
		"BrokenDeleting":     {reason: "it cleans up, so that the owner can go", spec: wanted, marked: true, deleting: true, broken: true, want: "reconcile"},
		"BrokenDeletingFree": {reason: "nothing holds the owner", spec: wanted, deleting: true, broken: true, want: "ignore"},
		"Retiring":           {reason: "the policy goes", spec: wanted, retiring: true, want: "clean up"},
		"RetiringUnknown":    {reason: "whoever it wanted", spec: unknown, retiring: true, want: "clean up"},
		"RetiringBroken":     {reason: "a broken policy that goes does as well", spec: wanted, broken: true, retiring: true, want: "clean up"},
		"Retired": {
			reason: "it was cleaned up after", spec: wanted, retiring: true, want: "ignore",
			before: func(turn ownerTurn, name types.NamespacedName, owner *unstructured.Unstructured) {
				turn.markCleanedUp(name, owner.GetUID())
			},
		},
	}
	compiled := picky(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			program := *compiled
			if tc.broken {
				program.CleanupOnly = errors.New("it does not compile")
			}
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			turn := ownerTurn{idleWith(t, serverOf(&program), clock, &program).revisions.CurrentOf("ambit-system/a")}
			turn.retiring = tc.retiring
			x := types.NamespacedName{Namespace: cmp.Or(tc.namespace, "home"), Name: "x"}
			var owner *unstructured.Unstructured
			if tc.spec != "" {
				owner = objecttext.ReadObject(t, fmt.Sprintf("{metadata: {name: x, namespace: %s, uid: u, resourceVersion: '1'}, %s}", x.Namespace, tc.spec))
				owner.SetCreationTimestamp(metav1.Unix(999, 0))
				if tc.young {
					owner.SetCreationTimestamp(metav1.Unix(1001, 0))
				}
				if tc.marked {
					owner.SetFinalizers([]string{v1alpha1.FinalizerCleanup})
				}
				if tc.deleting {
					owner.SetDeletionTimestamp(new(metav1.Unix(1002, 0)))
				}
			}
			if tc.before != nil {
				tc.before(turn, x, owner)
			}
			if got := intents[turn.intentFor(t.Context(), x, owner)]; got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
	if len(intents) != int(intentInspect)+1 {
		t.Errorf("the tables know %d intents", len(intents))
	}
}
