package informer

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestNothingIsForgottenInAList: an own write while the first list is on its way does
// not part what its objects share.
func TestNothingIsForgottenInAList(t *testing.T) {
	set := NewSet(Options{Clients: clientsOfNobody})
	set.Require(&recorder{}, []Interest{needOf("a")})
	st := set.informerOf(needOf("a").Key)
	e := st.stream.beginEpoch(func() {}).feeds[0]
	made := func(name string) *unstructured.Unstructured {
		object, err := st.projection.ProjectDelivered(thing(name, map[string]any{"own": name, "template": map[string]any{"image": "one"}}))
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	first := made("first")
	set.Observe(st.key, thing("mine", "other"))
	if !isShared(first, made("second")) {
		t.Error("the template is there twice")
	}
	e.receiveList(nil, "1")
}

// isShared reports whether two objects have one template.
func isShared(a, b *unstructured.Unstructured) bool {
	template := func(object *unstructured.Unstructured) uintptr {
		return reflect.ValueOf(object.Object["spec"].(map[string]any)["template"]).Pointer()
	}
	return template(a) == template(b)
}
