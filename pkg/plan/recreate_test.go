package plan

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// TestSettles: what is different right after our own write stays as it is, however it was
// written; only what a create of an object that can be applied to leaves is tried again.
func TestSettles(t *testing.T) {
	desired, stripped := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	decode(t, `{data: {a: x, b: x}}`, &desired.Object)
	decode(t, `{apiVersion: v1, metadata: {managedFields: [{manager: us, operation: Update, apiVersion: v1, fieldsV1: {"f:data": {"f:b": {}}}}]}, data: {b: x}}`, &stripped.Object)
	for _, tc := range []struct {
		action  Action
		settles bool
	}{
		{Action{Verb: Create, Object: desired}, false},
		{Action{Verb: Create, Object: desired, Recreates: true}, true},
		{Action{Verb: Apply, Object: desired}, true},
		{Action{Verb: Merge, Object: desired}, true},
	} {
		got := NormalizedDigest(tc.action, stripped, "us")
		if (got != "") != tc.settles {
			t.Errorf("%s, recreates %t: %q", tc.action.Verb, tc.action.Recreates, got)
		}
		if differences := ssadiff.Compare(desired, stripped, "us").Differences; tc.settles && tc.action.Recreates && got != ssadiff.DigestOf(ssadiff.DriftOf(differences)) {
			t.Errorf("it is not the digest that the next plan has")
		}
	}
}

// TestRecreateStripped: admission that takes a field away each time does not have the
// object made anew for ever, and a change of somebody else still does.
func TestRecreateStripped(t *testing.T) {
	o := &operator{world: &world{}, writes: -1}
	o.program = compile(t, "children:\n- id: web\n  apply: Recreate\n  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: web}, spec: {replicas: 3, shards: [a]}}\n")
	o.setOwner(t, "{}")
	o.converge(t)
	live := o.world.findIn("Widget", "default", "web")
	o.world.edit(live, map[string]any{"spec": map[string]any{"shards": nil}}, "admission")
	p := o.plan(t)
	if len(p.Actions) != 1 || p.Actions[0].Verb != Delete {
		t.Fatalf("a field is gone:\n%s", p)
	}
	live = o.world.findIn("Widget", "default", "web")
	created := Action{Verb: Create, Recreates: true, Object: slices.Clone(p.Children)[0].Desired}
	o.settled = map[types.UID]string{live.GetUID(): NormalizedDigest(created, live, v1alpha1.FieldManager(o.program.Label))}
	if p := o.plan(t); len(p.Actions) > 0 {
		t.Errorf("it was so right after it was made:\n%s", p)
	}
	o.world.edit(live, map[string]any{"spec": map[string]any{"replicas": int64(9)}}, "somebody")
	if p := o.plan(t); len(p.Actions) != 1 || p.Actions[0].Verb != Delete {
		t.Errorf("somebody has changed another field:\n%s", p)
	}
}
