package ssadiff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/test/objecttext"
)

// drifts are objects, and what of them somebody else has changed.
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
	"EachKey": {
		reason:  "Somebody has changed all keys of a map: what is left of ours is the map itself.",
		desired: `{apiVersion: v1, kind: ConfigMap, data: {a: x}}`, live: `{apiVersion: v1, kind: ConfigMap, data: {a: y}}`, fields: `{"f:data": {}}`,
		want: []string{"data.a"},
	},
	"DataAsOne": {
		reason:  "The data of other kinds may be a map that is taken as one.",
		desired: `{apiVersion: apps/v1, kind: ControllerRevision, data: {spec: {a: x}}}`, live: `{apiVersion: apps/v1, kind: ControllerRevision, data: {spec: {a: y}}}`, fields: `{"f:data": {}}`,
	},
	"AtomicMap": {
		reason:  "A map that the API server takes as one looks the same, and what admission made of it is ours.",
		desired: `{spec: {selector: {a: x}}}`, live: `{spec: {selector: {a: y}}}`, fields: `{"f:spec": {"f:selector": {}}}`,
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
		live:    `{metadata: {labels: {ambit.dev/policy: q, a: y}}}`, fields: `{"f:metadata": {"f:labels": {"f:a": {}}, "f:name": {}}}`,
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
			desired, live := objecttext.ReadObject(t, tc.desired), managedBy(t, tc.live, tc.fields)
			differences := Compare(desired, live, "us").Differences
			var got []string
			for _, d := range DriftOf(differences) {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDifferenceString(t *testing.T) {
	for text, tc := range map[string]struct {
		reason     string
		difference Difference
	}{
		"spec.a is another number":                                      {"The type says enough where it is the same.", Difference{Path: "spec.a", Want: "a number", Have: "a number"}},
		"spec.a is nothing, want a bool":                                {"Both are told where they differ.", Difference{Path: "spec.a", Want: "a bool", Have: "nothing"}},
		"data.p is (hidden), want (hidden)":                             {"Of a secret not even the size is told.", Difference{Path: "data.p", Want: "(hidden)", Have: "(hidden)"}},
		"spec.a is set, want nothing":                                   {"A projected object does not show what it has.", Difference{Path: "spec.a", Want: "nothing", Have: "set"}},
		"the desired object has other fields than the one applied last": {"A hash says nothing to people.", fieldSetDifference()},
	} {
		if got := tc.difference.String(); got != text {
			t.Errorf("%s got %q, want %q", tc.reason, got, text)
		}
	}
}

// fieldSetDifference is the one of a desired object that has other fields than before.
func fieldSetDifference() Difference {
	return Difference{Path: `metadata.annotations["ambit.dev/fields"]`, Want: "a text of 5 characters", Have: "a text of 4 characters"}
}

func TestReasonAndPaths(t *testing.T) {
	number := func(path string) Difference { return Difference{Path: path, Want: "a number", Have: "a number"} }
	for name, tc := range map[string]struct {
		reason      string
		differences []Difference
		text        string
		paths       []string
	}{
		"None":     {"Nothing differs.", nil, "", []string{}},
		"One":      {"A difference is told.", []Difference{number("a")}, "a is another number", []string{"a"}},
		"FieldSet": {"The field set counts where it is alone.", []Difference{fieldSetDifference()}, fieldSetDifference().String(), []string{fieldSetDifference().Path}},
		"Beside":   {"Beside others it says nothing more.", []Difference{fieldSetDifference(), number("a")}, "a is another number", []string{"a"}},
		"Many": {"A reason stays short, the paths are whole.", []Difference{number("a"), number("b"), number("c"), number("d"), number("e")},
			"a is another number; b is another number; c is another number; and 2 more", []string{"a", "b", "c", "d", "e"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReasonText(tc.differences); got != tc.text {
				t.Errorf("%s reason %q, want %q", tc.reason, got, tc.text)
			}
			if diff := cmp.Diff(tc.paths, PathsOf(tc.differences)); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	digest := func(want, have string) string {
		return DigestOf(Compare(objecttext.ReadObject(t, want), objecttext.ReadObject(t, have), "us").Differences)
	}
	const secret = `{kind: Secret, data: {p: eA==}}`
	switch {
	case digest(secret, secret) != "":
		t.Error("no difference has a digest")
	case digest(secret, `{kind: Secret, data: {p: eQ==}}`) == digest(secret, `{kind: Secret, data: {p: eg==}}`):
		t.Error("differences that look alike have one digest, though the values are other ones")
	}
}
