package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// drifts are objects with apply Recreate, and what of them is a reason to make them anew.
var drifts = map[string]struct {
	reason                string
	desired, live, fields string
	want                  []string
}{
	"Changed": {
		reason:  "Whoever changes a value takes the field.",
		desired: `{data: {a: x, b: x}}`, live: `{data: {a: y, b: x}}`, fields: `{"f:data": {"f:b": {}}}`,
		want: []string{"data.a"},
	},
	"Removed": {
		reason:  "Whoever removes a field takes it from all who had it.",
		desired: `{data: {a: x, b: x}}`, live: `{data: {b: x}}`, fields: `{"f:data": {"f:b": {}}}`,
		want: []string{"data.a"},
	},
	"RemovedMap": {
		reason:  "So it is with all of a map.",
		desired: `{data: {a: x}, spec: {a: 1}}`, live: `{spec: {a: 1}}`, fields: `{"f:spec": {"f:a": {}}}`,
		want: []string{"data"},
	},
	"Admission": {
		reason:  "What admission makes of our own write is still ours.",
		desired: `{data: {a: x}}`, live: `{data: {a: y}}`, fields: `{"f:data": {"f:a": {}}}`,
	},
	"Taken": {
		reason:  "Who takes a field over and changes nothing has changed nothing.",
		desired: `{spec: {a: {b: 1}, c: 1}}`, live: `{spec: {a: {b: 1}, c: 1}}`, fields: `{"f:spec": {"f:c": {}}}`,
	},
	"Beside": {
		reason:  "What others set beside is theirs.",
		desired: `{data: {a: x}}`, live: `{data: {a: x, b: y}}`, fields: `{"f:data": {"f:a": {}}}`,
	},
	"Marks": {
		reason:  "Ambit's own labels are none of the template.",
		desired: `{metadata: {labels: {ambit.dev/policy: p, app.kubernetes.io/managed-by: ambit, a: x}}}`,
		live:    `{metadata: {labels: {ambit.dev/policy: q, a: y}}}`, fields: `{"f:metadata": {"f:labels": {}, "f:name": {}}}`,
		want: nil,
	},
	"Label": {
		reason:  "A label of the template is.",
		desired: `{metadata: {labels: {ambit.dev/policy: p, a: x}}}`, live: `{metadata: {labels: {ambit.dev/policy: q, a: y}}}`,
		fields: `{"f:metadata": {"f:labels": {"f:b": {}}}}`,
		want:   []string{"metadata.labels.a"},
	},
	"Element": {
		reason:  "An element of a set that somebody takes out.",
		desired: `{spec: {tags: [a, b]}}`, live: `{spec: {tags: [a]}}`, fields: `{"f:spec": {"f:tags": {"v:\"a\"": {}}}}`,
		want: []string{`spec.tags[=a text of 1 character]`},
	},
	"Item": {
		reason:  "An item of a list with keys that somebody takes out.",
		desired: `{spec: {ports: [{name: a, port: 1}, {name: b, port: 2}]}}`, live: `{spec: {ports: [{name: a, port: 1}]}}`,
		fields: `{"f:spec": {"f:ports": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:port": {}}}}}`,
		want:   []string{"spec.ports[name=b]"},
	},
	"ItemField": {
		reason:  "A field of such an item.",
		desired: `{spec: {ports: [{name: a, port: 1}]}}`, live: `{spec: {ports: [{name: a, port: 3}]}}`,
		fields: `{"f:spec": {"f:ports": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}}`,
		want:   []string{"spec.ports[name=a].port"},
	},
	"Atomic": {
		reason:  "A list that is ours as a whole, in which the API server has changed something.",
		desired: `{spec: {command: [a]}}`, live: `{spec: {command: [b]}}`, fields: `{"f:spec": {"f:command": {}}}`,
	},
	"AtomicChanged": {
		reason:  "A list that was ours as a whole, and that somebody has changed.",
		desired: `{spec: {a: 1, command: [a]}}`, live: `{spec: {a: 1, command: [b]}}`, fields: `{"f:spec": {"f:a": {}}}`,
		want: []string{"spec.command[0]"},
	},
}

func TestDrift(t *testing.T) {
	for name, tc := range drifts {
		t.Run(name, func(t *testing.T) {
			desired, live := objectOf(t, tc.desired), managedBy(t, tc.live, tc.fields)
			var got []string
			for _, d := range driftOf(Diff(desired, live, "us")) {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// managedBy is an object with an entry of ours.
func managedBy(t *testing.T, text, fields string) *unstructured.Unstructured {
	t.Helper()
	object := objectOf(t, text)
	var entry map[string]any
	decode(t, "{manager: us, operation: Update, apiVersion: v1, fieldsV1: "+fields+"}", &entry)
	submap(object.Object, "metadata")["managedFields"] = []any{entry}
	object.SetAPIVersion("v1")
	return object
}

// TestSettles: what is different right after our own write stays as it is, however it was
// written; only what a create of an object that can be applied to leaves is tried again.
func TestSettles(t *testing.T) {
	desired := objectOf(t, `{data: {a: x, b: x}}`)
	stripped := managedBy(t, `{data: {b: x}}`, `{"f:data": {"f:b": {}}}`)
	for _, tc := range []struct {
		action  Action
		settles bool
	}{
		{Action{Verb: Create, Object: desired}, false},
		{Action{Verb: Create, Object: desired, Recreates: true}, true},
		{Action{Verb: Apply, Object: desired}, true},
		{Action{Verb: Merge, Object: desired}, true},
	} {
		got := Settles(tc.action, stripped, "us")
		if (got != "") != tc.settles {
			t.Errorf("%s, recreates %t: %q", tc.action.Verb, tc.action.Recreates, got)
		}
		if tc.settles && tc.action.Recreates && got != Digest(driftOf(Diff(desired, stripped, "us"))) {
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
	o.settled = map[types.UID]string{live.GetUID(): Settles(created, live, v1alpha1.FieldManager(o.program.Name))}
	if p := o.plan(t); len(p.Actions) > 0 {
		t.Errorf("it was so right after it was made:\n%s", p)
	}
	o.world.edit(live, map[string]any{"spec": map[string]any{"replicas": int64(9)}}, "somebody")
	if p := o.plan(t); len(p.Actions) != 1 || p.Actions[0].Verb != Delete {
		t.Errorf("somebody has changed another field:\n%s", p)
	}
}
