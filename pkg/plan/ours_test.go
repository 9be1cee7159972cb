package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestNameConflict is what a message says of who has the name of a child, and what it
// does not say of an object that the owner's author need not be able to read.
func TestNameConflict(t *testing.T) {
	controlled := func(obj *unstructured.Unstructured) {
		unstructured.SetNestedSlice(obj.Object, []any{map[string]any{"kind": "Database", "name": "orders", "uid": "their-uid", "controller": true}}, "metadata", "ownerReferences")
	}
	labelled := func(policy, owner string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			obj.SetLabels(map[string]string{v1alpha1.LabelPolicy: policy, v1alpha1.LabelOwnerUID: owner})
		}
	}
	lives := func(uid types.UID) bool { return uid != "dead-uid" }
	cases := map[string]struct {
		reason string
		shape  func(*unstructured.Unstructured)
		lives  func(types.UID) bool
		// says is in both messages, here only in that of an object in the owner's namespace.
		says, here []string
	}{
		"Nobody":      {"made by hand", func(*unstructured.Unstructured) {}, lives, []string{"it has no controller; ", "delete or rename it"}, nil},
		"Controller":  {"another operator's", controlled, lives, []string{"controller", "give the child another name"}, []string{"Database", "orders", "their-uid"}},
		"OtherPolicy": {"another policy's", labelled("billing", "their-uid"), lives, []string{"labelled as made by", "policy", "give the child another name"}, []string{"billing"}},
		"OtherOwner": {"following an advice to delete it would take it from its owner", labelled("test", "their-uid"), lives,
			[]string{"made by this policy for another owner", "no other owner gives it"}, []string{"their-uid"}},
		"DeadOwner": {"left behind", labelled("test", "dead-uid"), lives, []string{"this policy left it behind", "existing: Adopt takes it back"}, []string{"dead-uid"}},
		"NobodyKnows": {"owners cannot be seen", labelled("test", "their-uid"), nil,
			[]string{"for another owner", "if that owner is gone, existing: Adopt"}, []string{"their-uid"}},
		"Unproven": {"our labels, and no proof", labelled("test", "owner-uid"), lives, []string{"its labels alone do not prove"}, nil},
	}
	for name, tc := range cases {
		for _, namespace := range []string{"default", "other", ""} {
			t.Run(name+"/"+namespace, func(t *testing.T) {
				obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
				obj.SetName("same")
				obj.SetNamespace(namespace)
				tc.shape(obj)
				p := NameConflict(obj, Claimant{Policy: "test", Owner: "owner-uid", Namespace: "default", Lives: tc.lives})
				if p.Reason != v1alpha1.ReasonNameConflict || !p.Terminal {
					t.Errorf("%s: gave %+v", tc.reason, p)
				}
				if strings.Contains(p.Message, `in namespace "other"`) != (namespace == "other") {
					t.Errorf("in namespace %q it says %q", namespace, p.Message)
				}
				for _, text := range tc.says {
					if !strings.Contains(p.Message, text) {
						t.Errorf("%s: %q does not say %q", tc.reason, p.Message, text)
					}
				}
				for _, text := range tc.here {
					if strings.Contains(p.Message, text) != (namespace == "default") {
						t.Errorf("%s: in namespace %q it says %q", tc.reason, namespace, p.Message)
					}
				}
			})
		}
	}
}
