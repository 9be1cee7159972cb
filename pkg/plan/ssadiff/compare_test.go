package ssadiff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/test/objecttext"
)

func TestCompare(t *testing.T) {
	cases := map[string]struct {
		reason        string
		desired, live string
		// fields is the fieldsV1 of our entry; operation and version are Apply and v1
		// unless entry is given.
		fields, entry string
		want          []string
		migrate       bool
		// changes is the merge patch that does it, if one does.
		changes string
	}{
		"SameKeyOtherProtocol": {
			reason:  "A key field that we do not set has a default: the item that sets it chooses first.",
			desired: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP, name: u}]}}`,
			live:    `{spec: {ports: [{port: 53, protocol: UDP, name: x}, {port: 53, protocol: TCP}]}}`,
			fields:  `{"f:spec": {"f:ports": {'k:{"port":53,"protocol":"TCP"}': {".": {}}, 'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:name": {}}}}}`,
			want:    []string{`spec.ports[port=53,protocol=UDP].name is another text of 1 character`},
		},
		"ProjectedKey": {
			reason:  "A projected object does not show the key field that we do not set; one of the items is as desired.",
			desired: `{spec: {ports: [{port: 53, name: a}]}}`,
			live:    `{spec: {ports: [{port: 53, name: b}, {port: 53, name: a}, {port: 53, name: c}]}}`,
			fields:  `{"f:spec": {"f:ports": {'k:{"port":53,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}}}}}`,
		},
		"NewItem": {
			reason:  "An item that no entry of ours names is found by its own key.",
			desired: `{spec: {env: [{name: A, value: "1"}, {name: B, value: "2"}]}}`,
			live:    `{spec: {env: [{name: B, value: "x"}, {name: A, value: "1"}]}}`,
			fields:  `{"f:spec": {"f:env": {'k:{"name":"A"}': {".": {}, "f:value": {}}}}}`,
			want:    []string{`spec.env[name=B].value is another text of 1 character`},
		},
		"EscapedKey": {
			reason:  "A key is JSON.",
			desired: `{spec: {env: [{name: 'a"b', value: "1"}]}}`,
			live:    `{spec: {env: [{name: c, value: "1"}, {name: 'a"b', value: "2"}]}}`,
			fields:  `{"f:spec": {"f:env": {'k:{"name":"a\"b"}': {".": {}, "f:value": {}}}}}`,
			want:    []string{`spec.env[name=a"b].value is another text of 1 character`},
		},
		"Numbers": {
			reason:  "Numbers are equal by value, beyond the precision of floats too.",
			desired: `{spec: {a: 3, b: 9007199254740993}}`,
			live:    `{spec: {a: 3.0, b: 9007199254740992}}`,
			fields:  `{"f:spec": {"f:a": {}, "f:b": {}}}`,
			want:    []string{`spec.b is another number`},
			changes: `{spec: {b: 9007199254740993}}`,
		},
		"Empty": {
			reason:  "What is empty equals what is not there, both ways.",
			desired: `{spec: {a: {}, b: [], c: null, d: {x: 1}}}`,
			live:    `{spec: {d: {x: 1, y: {}}}}`,
			fields:  `{"f:spec": {"f:a": {}, "f:b": {}, "f:d": {"f:x": {}}}}`,
		},
		"OtherType": {
			reason:  "A value of another type is a difference as a whole.",
			desired: `{spec: {a: {x: 1}, b: [1], c: 1}}`,
			live:    `{spec: {a: [1], b: {x: 1}, c: {x: 1}}}`,
			fields:  `{"f:spec": {"f:a": {"f:x": {}}, "f:b": {}, "f:c": {}}}`,
			want:    []string{`spec.a is a list of 1 element, want a map of 1 key`, `spec.b is a map of 1 key, want a list of 1 element`, `spec.c is a map of 1 key, want a number`},
		},
		"DefaultInAtomic": {
			reason:  "Below a list that is ours as one, the API server's defaults are no difference.",
			desired: `{spec: {rules: [{path: /}]}}`,
			live:    `{spec: {rules: [{path: /, type: Prefix}]}}`,
			fields:  `{"f:spec": {"f:rules": {}}}`,
		},
		"Secret": {
			reason:  "Values of Secrets are not shown.",
			desired: `{kind: Secret, data: {p: eA==}}`,
			live:    `{kind: Secret, data: {p: eQ==}}`,
			fields:  `{"f:data": {"f:p": {}}}`,
			want:    []string{`data.p is (hidden), want (hidden)`},
			changes: `{data: {p: eA==}}`,
		},
		"NoEntryOfOurs": {
			reason:  "There are entries and none of ours: nothing could be removed later.",
			desired: `{spec: {a: 1}}`,
			live:    `{spec: {a: 1}}`,
			entry:   `{manager: other, operation: Apply, apiVersion: v1, fieldsV1: {"f:spec": {"f:a": {}}}}`,
			want:    []string{`metadata.managedFields is nothing, want us`},
		},
		"OtherVersion": {
			reason:  "An entry of another version says nothing of this one, and has to be replaced.",
			desired: `{spec: {a: 1}}`,
			live:    `{spec: {a: 1}}`,
			entry:   `{manager: us, operation: Update, apiVersion: v1beta1, fieldsV1: {"f:spec": {"f:old": {}}}}`,
			want:    []string{`metadata.managedFields is of v1beta1, want us`},
			migrate: true,
		},
		"Subresource": {
			reason:  "What we write through a subresource is another matter.",
			desired: `{spec: {a: 1}}`,
			live:    `{spec: {a: 1}}`,
			entry:   `{manager: us, operation: Update, apiVersion: v1, subresource: status, fieldsV1: {"f:status": {"f:a": {}}}}`,
			want:    []string{`metadata.managedFields is nothing, want us`},
		},
		"UpdateDefaults": {
			reason:  "What only our Update entry has may be a default; without a record of other fields it is none of ours.",
			desired: `{spec: {a: 1}}`,
			live:    `{spec: {a: 1, b: 2}}`,
			entry:   `{manager: us, operation: Update, apiVersion: v1, fieldsV1: {"f:spec": {"f:a": {}, "f:b": {}}}}`,
		},
		"UpdateLabel": {
			reason:  "Labels have no defaults: what our Update entry has of them is ours.",
			desired: `{metadata: {labels: {a: x}}}`,
			live:    `{metadata: {labels: {a: x, b: x}}}`,
			entry:   `{manager: us, operation: Update, apiVersion: v1, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:b": {}}}}}`,
			want:    []string{`metadata.labels.b is a text of 1 character, want nothing`},
			migrate: true,
		},
		"ChangedScalars": {
			reason:  "A merge patch changes single values of fields that are ours, whichever entry has them.",
			desired: `{metadata: {labels: {a: x}}, spec: {a: {b: {c: 2, d: 1}}, ok: true}}`,
			live:    `{metadata: {labels: {a: z, theirs: z}}, spec: {a: {b: {c: 1, d: 1}}, ok: false}}`,
			entry:   `{manager: us, operation: Update, apiVersion: v1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:a": {"f:b": {"f:c": {}, "f:d": {}}}, "f:ok": {}}}}`,
			want:    []string{`metadata.labels.a is another text of 1 character`, `spec.a.b.c is another number`, `spec.ok is another bool`},
			changes: `{metadata: {labels: {a: x}}, spec: {a: {b: {c: 2}}, ok: true}}`,
		},
		"ChangedBesideRemoved": {
			reason:  "What is to go takes an apply, and the rest goes with it.",
			desired: `{spec: {a: 2}}`,
			live:    `{spec: {a: 1, b: 1}}`,
			fields:  `{"f:spec": {"f:a": {}, "f:b": {}}}`,
			want:    []string{`spec.a is another number`, `spec.b is a number, want nothing`},
		},
		"ChangedAndNew": {
			reason:  "So does a field that is not there yet.",
			desired: `{spec: {a: 2, c: 1}}`,
			live:    `{spec: {a: 1}}`,
			fields:  `{"f:spec": {"f:a": {}}}`,
			want:    []string{`spec.a is another number`, `spec.c is nothing, want a number`},
		},
		"ChangedInAtomicMap": {
			reason:  "A map that is ours as one is written as one: a patch would leave the keys that are to go.",
			desired: `{spec: {nodeSelector: {a: z}}}`,
			live:    `{spec: {nodeSelector: {a: x, b: x}}}`,
			fields:  `{"f:spec": {"f:nodeSelector": {}}}`,
			want:    []string{`spec.nodeSelector.a is another text of 1 character`},
		},
		"ChangedByAnother": {
			reason:  "What another manager has taken over is taken back by an apply.",
			desired: `{spec: {a: 2, b: 1}}`,
			live:    `{spec: {a: 1, b: 1}}`,
			fields:  `{"f:spec": {"f:b": {}}}`,
			want:    []string{`spec.a is another number`},
		},
		"OtherFieldSet": {
			reason:  "With other fields than before it takes an apply.",
			desired: `{metadata: {annotations: {ambit.dev/fields: new}}, spec: {a: 2}}`,
			live:    `{metadata: {annotations: {ambit.dev/fields: old}}, spec: {a: 1}}`,
			fields:  `{"f:metadata": {"f:annotations": {"f:ambit.dev/fields": {}}}, "f:spec": {"f:a": {}}}`,
			want:    []string{`the desired object has other fields than the one applied last`, `spec.a is another number`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.entry == "" {
				tc.entry = "{manager: us, operation: Apply, apiVersion: v1, fieldsV1: " + tc.fields + "}"
			}
			desired, live := objecttext.ReadObject(t, tc.desired), objecttext.ReadManaged(t, tc.live, tc.entry)
			compared := Compare(desired, live, "us")
			var got []string
			for _, d := range compared.Differences {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || compared.Migrate != tc.migrate {
				t.Errorf("%s\nmigrate: %v, want %v\n-want +got:\n%s", tc.reason, compared.Migrate, tc.migrate, diff)
			}
			var changes map[string]any
			if tc.changes != "" {
				changes = objecttext.ReadObject(t, tc.changes).Object
			}
			if diff := cmp.Diff(changes, compared.Changes); diff != "" {
				t.Errorf("%s\nthe merge patch, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
