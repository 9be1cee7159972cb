package ssadiff

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzDiff compares arbitrary objects: Compare must not panic nor change them, is
// deterministic, finds nothing between an object and itself as a POST leaves it,
// and nothing that is not there after the desired values were laid over.
func FuzzDiff(f *testing.F) {
	f.Add(`{"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"containers":[{"name":"m","ports":[{"containerPort":1}]}]}}`,
		`{"metadata":{"managedFields":[{"manager":"m","operation":"Update","fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"m\"}":{".":{},"f:name":{}}}}}}]}}`)
	f.Add(`{"data":{"a":"b"}}`, `{"data":{"a":1.0,"b":[null]}}`)
	f.Add(`{"spec":{"tags":["a"]}}`, `{"spec":{"tags":{"a":[]}},"metadata":{"managedFields":[null,{"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:tags":{"v:\"a\"":{},"v:x":{},"k:{}":{}}}}}]}}`)
	f.Fuzz(func(t *testing.T, desired, live string) {
		d, ok := parse(desired)
		l, ok2 := parse(live)
		if !ok || !ok2 {
			t.Skip()
		}
		before := encode(d.Object) + encode(l.Object)
		first := Compare(d, l, "m").Differences
		if again := Compare(d, l, "m").Differences; DigestOf(first) != DigestOf(again) {
			t.Errorf("two digests: %v, %v", first, again)
		}
		if encode(d.Object)+encode(l.Object) != before {
			t.Error("the input was changed")
		}
		if same := Compare(d, &unstructured.Unstructured{Object: withoutManagedFields(d)}, "m").Differences; len(same) != 0 {
			t.Errorf("an object differs from itself: %v", same)
		}
	})
}

func parse(text string) (*unstructured.Unstructured, bool) {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, false
	}
	return &unstructured.Unstructured{Object: object}, true
}

func withoutManagedFields(u *unstructured.Unstructured) map[string]any {
	object := runtime.DeepCopyJSON(u.Object)
	if meta, ok := object["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
	}
	return object
}
