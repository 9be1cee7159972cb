package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/policytext"
)

var (
	then = "2026-01-01T00:00:00Z"
	now  = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
)

const source = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: test}
spec:
  owner: {apiVersion: example.com/v1, kind: Thing}
  status:
    size: ${owner.spec.size}
    state: {word: "${owner.spec.word}"}
  conditions:
    - {type: Mine, status: "true"}
`

func program(t testing.TB) *policy.Program {
	t.Helper()
	return policytext.Compile(t, "test.yaml", source)
}

func TestNext(t *testing.T) {
	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready", ObservedGeneration: 2}
	written := func(kind, status, since string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Ready", "message": "", "lastTransitionTime": since, "observedGeneration": int64(2)}
	}
	cases := map[string]struct {
		reason   string
		old      map[string]any
		planned  plan.Plan
		want     map[string]any
		wantSame bool // nothing to write
		deleting bool
	}{
		"First": {
			reason:  "everything is set, with the present time",
			planned: plan.Plan{Status: map[string]any{"size": int64(1)}, Conditions: []metav1.Condition{ready}},
			want: map[string]any{
				"size": int64(1), "observedGeneration": int64(2),
				"conditions": []any{written("Ready", "True", "2026-01-02T00:00:00Z")},
			},
		},
		"Again": {
			reason: "the same plan changes nothing, the time least of all",
			old: map[string]any{
				"size": int64(1), "observedGeneration": int64(2), "conditions": []any{written("Ready", "True", then)},
			},
			planned:  plan.Plan{Status: map[string]any{"size": int64(1)}, Conditions: []metav1.Condition{ready}},
			wantSame: true,
		},
		"Others": {
			reason: "fields and conditions of others stay",
			old: map[string]any{
				"theirs": "x", "state": map[string]any{"theirs": "y", "word": "old"},
				"conditions": []any{map[string]any{"type": "Theirs", "status": "True"}, written("Ready", "False", then)},
			},
			planned: plan.Plan{Status: map[string]any{"state": map[string]any{"word": "new"}}, Conditions: []metav1.Condition{ready}},
			want: map[string]any{
				"theirs": "x", "state": map[string]any{"theirs": "y", "word": "new"},
				"conditions": []any{map[string]any{"type": "Theirs", "status": "True"}, written("Ready", "True", "2026-01-02T00:00:00Z")},
			},
		},
		"LeftOut": {
			reason:  "a field of the template without a value, and a condition that does not hold any more, go",
			old:     map[string]any{"size": int64(1), "state": map[string]any{"word": "old"}, "observedGeneration": int64(1), "conditions": []any{written("Stalled", "True", then), written("Mine", "True", then)}},
			planned: plan.Plan{Conditions: []metav1.Condition{ready}},
			want: map[string]any{
				"state": map[string]any{}, "observedGeneration": int64(2),
				"conditions": []any{written("Ready", "True", "2026-01-02T00:00:00Z")},
			},
		},
		"Places": {
			reason: "conditions keep their places, whoever wrote them first",
			old: map[string]any{
				"observedGeneration": int64(2),
				"conditions":         []any{written("Ready", "True", then), map[string]any{"type": "Theirs", "status": "True"}},
			},
			planned:  plan.Plan{Conditions: []metav1.Condition{ready}},
			wantSame: true,
		},
		"Partial": {
			reason: "while an input is to come, what the policy said stays",
			old: map[string]any{
				"size": int64(1), "observedGeneration": int64(2), "conditions": []any{written("Mine", "True", then), written("Ready", "True", then)},
			},
			planned: plan.Plan{Partial: true, Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Ready", ObservedGeneration: 2}}},
			want: map[string]any{
				"size": int64(1), "observedGeneration": int64(2),
				"conditions": []any{written("Mine", "True", then), written("Ready", "False", "2026-01-02T00:00:00Z")},
			},
		},
		"Deleting": {
			reason: "of an owner that is being deleted the policy is not asked any more",
			old: map[string]any{
				"size": int64(1), "observedGeneration": int64(1),
				"conditions": []any{written("Mine", "True", then), written("Ready", "True", then), written("Reconciling", "True", then)},
			},
			planned:  plan.Plan{Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Ready", ObservedGeneration: 2}}},
			deleting: true,
			want: map[string]any{
				"size": int64(1), "observedGeneration": int64(2),
				"conditions": []any{written("Mine", "True", then), written("Ready", "False", "2026-01-02T00:00:00Z")},
			},
		},
		"DeletedWithoutUs": {
			reason:   "and without a finalizer of ours nothing is said of it",
			old:      map[string]any{"size": int64(1), "conditions": []any{written("Ready", "True", then)}},
			deleting: true,
			wantSame: true,
		},
		"AsRead": {
			reason: "a null is no field, and a whole number reads back as an integer",
			old: map[string]any{
				"size": int64(1), "observedGeneration": int64(2), "conditions": []any{written("Ready", "True", then)},
			},
			planned:  plan.Plan{Status: map[string]any{"size": 1.0, "state": nil}, Conditions: []metav1.Condition{ready}},
			wantSame: true,
		},
		"NoGenerationInConditions": {
			reason: "a schema without observedGeneration in conditions is not written again and again",
			old: map[string]any{"observedGeneration": int64(2), "conditions": []any{map[string]any{
				"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": then,
			}}},
			planned:  plan.Plan{Conditions: []metav1.Condition{ready}},
			wantSame: true,
		},
		"NothingToSay": {
			reason:   "an owner that is left alone keeps its status",
			old:      map[string]any{"size": int64(1), "conditions": []any{written("Ready", "True", then)}},
			wantSame: true,
		},
		"NoObservedGeneration": {
			reason:   "a schema without observedGeneration is not written again and again",
			old:      map[string]any{"conditions": []any{written("Ready", "True", then)}},
			planned:  plan.Plan{Conditions: []metav1.Condition{ready}},
			wantSame: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			owner := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(2)}}}
			if tc.old != nil {
				owner.Object["status"] = tc.old
			}
			if tc.deleting {
				owner.SetDeletionTimestamp(&metav1.Time{Time: now})
			}
			before := runtime.DeepCopyJSON(owner.Object)
			got := NextStatus(owner, program(t), &tc.planned, now)
			if diff := cmp.Diff(before, owner.Object); diff != "" {
				t.Fatalf("the owner was changed:\n%s", diff)
			}
			if tc.wantSame {
				tc.want = tc.old
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if Equal(StatusOf(owner), got) != tc.wantSame {
				t.Errorf("%s: equal is %t", tc.reason, !tc.wantSame)
			}
		})
	}
}

// TestMergePatch: applied by the rules of RFC 7386, the patch turns old into
// next.
func TestMergePatch(t *testing.T) {
	cases := map[string]struct{ old, next, want map[string]any }{
		"Same":    {old: map[string]any{"a": int64(1)}, next: map[string]any{"a": int64(1)}, want: map[string]any{}},
		"Add":     {old: map[string]any{}, next: map[string]any{"a": int64(1)}, want: map[string]any{"a": int64(1)}},
		"Remove":  {old: map[string]any{"a": int64(1), "b": "x"}, next: map[string]any{"b": "x"}, want: map[string]any{"a": nil}},
		"Nested":  {old: map[string]any{"m": map[string]any{"a": "1", "b": "2"}}, next: map[string]any{"m": map[string]any{"b": "3"}}, want: map[string]any{"m": map[string]any{"a": nil, "b": "3"}}},
		"List":    {old: map[string]any{"l": []any{"a"}}, next: map[string]any{"l": []any{"a", "b"}}, want: map[string]any{"l": []any{"a", "b"}}},
		"MapList": {old: map[string]any{"x": map[string]any{"a": "1"}}, next: map[string]any{"x": []any{}}, want: map[string]any{"x": []any{}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mergePatch(tc.old, tc.next)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSame(t *testing.T) {
	at := func(since, status string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "lastTransitionTime": since}}}
	}
	if !SaysSame(at("1", "True"), at("2", "True")) {
		t.Error("statuses that differ in a time alone do not count as the same")
	}
	if SaysSame(at("1", "True"), at("1", "False")) {
		t.Error("statuses that differ in a condition count as the same")
	}
	if !SaysSame(map[string]any{}, map[string]any{"conditions": []any{}}) {
		t.Error("no conditions are not the same as none")
	}
}

// TestEqual: of JSON-like values it says what is said by reflection.
func TestEqual(t *testing.T) {
	values := []any{
		nil, "", "a", int64(0), int64(1), 0.0, 1.0, true, false, []any{}, []any(nil), []any{nil}, []any{"a"}, []any{"a", "b"}, map[string]any{}, map[string]any(nil),
		map[string]any{"a": nil}, map[string]any{"a": "b"}, map[string]any{"b": nil}, map[string]any{"a": []any{}}, map[string]any{"a": []any(nil)}, 1, int32(1),
	}
	for _, a := range values {
		for _, b := range values {
			x, y := map[string]any{"x": a}, map[string]any{"x": b}
			if got, want := Equal(x, y), equality.Semantic.DeepEqual(x, y); got != want {
				t.Errorf("%#v and %#v: got %t, want %t", a, b, got, want)
			}
		}
	}
}
