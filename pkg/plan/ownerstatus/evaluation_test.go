package ownerstatus

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

const testPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: cache, namespace: ops}
spec:
  owner: {apiVersion: example.com/v1, kind: Cache}
  watches:
  - {id: peers, apiVersion: v1, kind: ConfigMap}
  status: {size: "${owner.spec.size}", peers: "${size(peers)}"}
  conditions:
  - {type: Large, status: "owner.spec.size > 3", reason: "'Counted'", message: "'it has ' + string(owner.spec.size)"}
  - {type: Joined, status: "size(peers) > 0"}
  - {type: Odd, status: "owner.spec.size"}
  requeueAfter: duration('10ms')
`

// evaluationOf is what testPolicy says of a Cache of a size.
func evaluationOf(t *testing.T, size int64) (*Evaluation, *problems.Set) {
	t.Helper()
	document, err := syntax.Parse("policy.yaml", []byte(testPolicy))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(document[0])
	if err != nil {
		t.Fatal(err)
	}
	owner := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
	scope := bindings.BindOwner(t.Context(), program, owner, nil)
	scope.Vars["peers"] = []any{}
	blockers := &problems.Set{}
	return NewEvaluation(program, &scope, blockers), blockers
}

func TestRenderConditions(t *testing.T) {
	e, blockers := evaluationOf(t, 5)
	e.HideVariable("peers", &problems.Problem{Reason: v1alpha1.ReasonForbidden, Message: "it is denied", Terminal: true})
	got := map[string]metav1.Condition{}
	for _, c := range e.RenderConditions(t.Context(), Circumstances{Generation: 7, Pruning: "pruning is suspended"}) {
		got[c.Type] = c
		if c.ObservedGeneration != 7 {
			t.Errorf("%s is of generation %d", c.Type, c.ObservedGeneration)
		}
	}
	for kind, want := range map[string][3]string{
		"Large":                     {"True", "Counted", "it has 5"},
		"Joined":                    {"Unknown", v1alpha1.ReasonForbidden, "not known: it is denied"},
		v1alpha1.ConditionStalled:   {"True", v1alpha1.ReasonExpressionFailed, blockers.Sorted()[0].Message + "; pruning is suspended"},
		"Odd":                       {"Unknown", v1alpha1.ReasonExpressionFailed, blockers.Sorted()[0].Message},
		v1alpha1.ConditionPermitted: {"True", v1alpha1.ReasonPermitted, ""},
	} {
		if c := got[kind]; string(c.Status) != want[0] || c.Reason != want[1] || c.Message != want[2] {
			t.Errorf("%s is %s, %s, %q, want %q", kind, c.Status, c.Reason, c.Message, want)
		}
	}
	stalled := StallConditions([]metav1.Condition{got["Large"], got[v1alpha1.ConditionPermitted]}, "Refused", "too long")
	if len(stalled) != 3 || stalled[0].Type != v1alpha1.ConditionPermitted || stalled[2].Reason != "Refused" || stalled[2].ObservedGeneration != 7 {
		t.Errorf("a stalled owner has the conditions %v", stalled)
	}
}

func TestRenderStatus(t *testing.T) {
	e, blockers := evaluationOf(t, 2)
	if status := e.RenderStatus(t.Context(), false); status["size"] != int64(2) || status["peers"] != int64(0) || e.IsPartial() || !blockers.IsEmpty() {
		t.Errorf("the status is %v, with %v", status, blockers.Sorted())
	}
	if after := e.RequeueAfter(t.Context(), false); after != time.Second {
		t.Errorf("it is looked at again after %s, want the least, a second", after)
	}
	e.HideVariable("peers", &problems.Problem{Reason: v1alpha1.ReasonSyncing, Message: "it is not listed yet"})
	if status := e.RenderStatus(t.Context(), true); len(status) != 1 || !e.IsPartial() || !blockers.IsEmpty() {
		t.Errorf("what may still come is left out and no mistake: got %v, with %v", status, blockers.Sorted())
	}
	if e.RenderStatus(t.Context(), false); blockers.IsEmpty() {
		t.Error("what fails for good is a blocker")
	}
}
