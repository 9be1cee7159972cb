package ssadiff

import (
	"testing"

	"github.com/ambit-dev/ambit/test/objecttext"
)

func TestFieldSetHash(t *testing.T) {
	const base = `{spec: {a: 1, list: [{x: 1}, {y: 2}], labels: {k: v}}, data: {k: v}}`
	for name, tc := range map[string]struct {
		reason string
		object string
		same   bool
	}{
		"Values":     {"Values do not count.", `{spec: {a: text, list: [{x: 9}, {y: 8}], labels: {k: w}}, data: {k: w}}`, true},
		"Identity":   {"What every object has does not count, nor the metadata.", `{apiVersion: v1, kind: X, metadata: {name: a}, status: {b: 1}, spec: {a: 1, list: [{x: 1}, {y: 2}], labels: {k: v}}, data: {k: v}}`, true},
		"Empty":      {"An empty field is none.", `{spec: {a: 1, n: null, m: {}, l: [], list: [{x: 1}, {y: 2}], labels: {k: v}}, data: {k: v}}`, true},
		"Label":      {"The keys of maps without defaults are known from the entry.", `{spec: {a: 1, list: [{x: 1}, {y: 2}], labels: {other: v, k: v}}, data: {k: v, l: w}}`, true},
		"Field":      {"Another field counts.", `{spec: {b: 1, list: [{x: 1}, {y: 2}], labels: {k: v}}, data: {k: v}}`, false},
		"More":       {"One more field counts.", `{spec: {a: 1, b: 1, list: [{x: 1}, {y: 2}], labels: {k: v}}, data: {k: v}}`, false},
		"ListOrder":  {"The place of an item counts.", `{spec: {a: 1, list: [{y: 1}, {x: 2}], labels: {k: v}}, data: {k: v}}`, false},
		"OtherPlace": {"The same name elsewhere is another field.", `{spec: {list: [{x: 1, a: 1}, {y: 2}], labels: {k: v}}, data: {k: v}}`, false},
		"Missing":    {"A part that is gone counts.", `{spec: {a: 1, list: [{x: 1}, {y: 2}], labels: {k: v}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := FieldSetHash(objecttext.ReadObject(t, base).Object) == FieldSetHash(objecttext.ReadObject(t, tc.object).Object); same != tc.same {
				t.Errorf("%s same: %t", tc.reason, same)
			}
		})
	}
}
