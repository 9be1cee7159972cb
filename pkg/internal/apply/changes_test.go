package apply_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// TestChanges: where single values differ, a merge patch does what the apply would have done, leaves
// the fields to the same manager, and nothing that later writes stumble over; and it is as well
// guarded.
func TestChanges(t *testing.T) {
	b := newBench(t, control.Cluster(t).Admin(), "admin")
	uid := b.create("a", map[string]any{"k": "1", "gone": "x"}).Object.GetUID()
	// change writes what differs, and wants it to be a merge patch or not.
	change := func(uid types.UID, patched bool, data map[string]any) apply.Outcome {
		t.Helper()
		desired := b.desired("a", data)
		compared := ssadiff.Compare(desired, b.live("a"), manager)
		if (compared.Changes != nil) != patched {
			t.Fatalf("the changes are %v, of %v", compared.Changes, compared.Differences)
		}
		return b.do(plan.Action{Verb: plan.Apply, Name: "a", UID: uid, Object: desired, Migrate: compared.Migrate, Changes: compared.Changes})
	}
	settled := func(data map[string]any) {
		t.Helper()
		if got := ssadiff.Compare(b.desired("a", data), b.live("a"), manager); len(got.Differences) > 0 {
			t.Errorf("it differs still: %v", got.Differences)
		}
	}

	if out := change(otherUID, true, map[string]any{"k": "2", "gone": "x"}); !out.Stale || b.data("a")["k"] != "1" {
		t.Errorf("of another uid it gave %+v, and left %v", out, b.data("a"))
	}
	changed := map[string]any{"k": "2", "gone": "x"}
	if out := change(uid, true, changed); out.Object == nil || b.data("a")["k"] != "2" {
		t.Fatalf("it gave %+v, and left %v", out, b.data("a"))
	}
	settled(changed)
	if entries := b.live("a").GetManagedFields(); len(entries) != 1 || entries[0].Manager != manager || entries[0].Operation != "Update" {
		t.Errorf("the managers are %v", entries)
	}
	removed := map[string]any{"k": "3"}
	if out := change(uid, false, removed); out.Object == nil || len(b.data("a")) != 1 {
		t.Fatalf("to remove a key gave %+v, and left %v", out, b.data("a"))
	}
	settled(removed)
	if out := change(uid, true, map[string]any{"k": "4"}); out.Object == nil || b.data("a")["k"] != "4" {
		t.Fatalf("after an apply it gave %+v, and left %v", out, b.data("a"))
	}
	if out := change(uid, false, map[string]any{"other": "5"}); out.Object == nil || b.data("a")["other"] != "5" || len(b.data("a")) != 1 {
		t.Fatalf("to replace a key that was patched gave %+v, and left %v", out, b.data("a"))
	}
	settled(map[string]any{"other": "5"})

	if err := b.objects.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := plan.Action{Verb: plan.Apply, Name: "a", UID: uid, Object: b.desired("a", changed), Changes: map[string]any{"data": changed}}
	if out := b.do(gone); !out.Stale || b.live("a") != nil {
		t.Errorf("of an object that is gone it gave %+v", out)
	}
}

// TestChangesByKind: a patch of what differs settles an object of every kind, built-in or custom, and
// a value of a wrong type is a bad object in either type of patch.
func TestChangesByKind(t *testing.T) {
	a := newArena(t)
	for name, c := range map[string]struct {
		path []string
		from string
		to   any
		bad  bool
	}{
		"Deployment":      {[]string{"spec", "replicas"}, "spec: {replicas: 1, " + workload, int64(2), false},
		"DeploymentLabel": {[]string{"metadata", "labels", "ours"}, "metadata: {labels: {ours: '1'}}\nspec: {" + workload, "2", false},
		"DeploymentType":  {[]string{"spec", "replicas"}, "spec: {replicas: 1, " + workload, "two", true},
		"Secret":          {[]string{"data", "ours"}, "data: {ours: MQ==}", "Mg==", false},
		"Widget":          {[]string{"spec", "ours"}, "spec: {ours: 1}", int64(2), false},
		"WidgetType":      {[]string{"spec", "ours"}, "spec: {ours: 1}", "two", true},
	} {
		t.Run(name, func(t *testing.T) {
			k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return strings.HasPrefix(name, k.Kind) })]
			made := a.make(t, k, k.object(t, a.namespace, a.name(), c.from), manager)
			desired := k.object(t, a.namespace, made.GetName(), c.from)
			if err := unstructured.SetNestedField(desired.Object, c.to, c.path...); err != nil {
				t.Fatal(err)
			}
			compared := ssadiff.Compare(desired, made, manager)
			if compared.Changes == nil {
				t.Fatalf("it takes an apply: %v", compared.Differences)
			}
			out := a.do(t, k, plan.Action{Verb: plan.Apply, Name: made.GetName(), UID: made.GetUID(), Object: desired, Changes: compared.Changes}, nil)
			live := a.live(t, k, made.GetName())
			switch {
			case c.bad:
				if out.Problem == nil || out.Problem.Reason != v1alpha1.ReasonInvalid || !out.Problem.Terminal || live.GetResourceVersion() != made.GetResourceVersion() {
					t.Errorf("it gave %+v, want a terminal %s, and nothing written", out.Problem, v1alpha1.ReasonInvalid)
				}
			case out.Object == nil:
				t.Errorf("it gave %+v", out.Problem)
			default:
				if left := ssadiff.Compare(desired, live, manager); len(left.Differences) > 0 {
					t.Errorf("it differs still: %v", left.Differences)
				}
			}
		})
	}
}
