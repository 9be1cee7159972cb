package claims

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

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
			[]string{"for another owner", "if Ambit can see that this owner is gone, existing: Adopt"}, []string{"their-uid"}},
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

// TestMayAdopt is who may be taken over, and that what is said about it is true: an object
// of which NameConflict says without more that existing: Adopt takes it is free.
func TestMayAdopt(t *testing.T) {
	const own, live, dead = "owner-uid", "their-uid", "dead-uid"
	for name, tc := range map[string]struct {
		reason   string
		metadata string
		unknown  bool
		ensures  bool
		free     bool
	}{
		"Nothing":          {reason: "somebody made it by hand", metadata: "{}", free: true},
		"LostProof":        {reason: "made for this owner, whose record was lost", metadata: marked("test", own, "claim"), free: true},
		"LostReference":    {reason: "made for this owner, and somebody took its ownerReference away", metadata: marked("test", own, ""), free: true},
		"LeftBehind":       {reason: "its owner is gone", metadata: marked("test", dead, "claim"), free: true},
		"LeftNoClaim":      {reason: "its owner is gone, and so is its claim", metadata: marked("test", dead, ""), free: true},
		"PolicyOnly":       {reason: "the label of the policy names no owner", metadata: marked("test", "", ""), free: true},
		"OtherOwner":       {reason: "its owner lives", metadata: marked("test", live, "claim")},
		"Unknown":          {reason: "nobody knows whether its owner lives", metadata: marked("test", dead, "claim"), unknown: true},
		"OwnUnknown":       {reason: "this owner lives", metadata: marked("test", own, "claim"), unknown: true, free: true},
		"OtherPolicy":      {reason: "who lives is known of this policy's owners only", metadata: marked("another", dead, "claim")},
		"OtherPolicyOwn":   {reason: "another policy made it for this owner", metadata: marked("another", own, "")},
		"NoPolicy":         {reason: "the owner may be another policy's", metadata: marked("", dead, "claim")},
		"NoPolicyOwn":      {reason: "another policy may have made it for this owner", metadata: marked("", own, "claim")},
		"BareClaim":        {reason: "admission took the labels away", metadata: marked("", "", "claim")},
		"ClaimOfPolicy":    {reason: "admission took the owner's label away", metadata: marked("test", "", "claim")},
		"Ensured":          {reason: "a policy has made it for itself", metadata: "{annotations: {ambit.dev/ensured-by: a/b}}"},
		"Controller":       {reason: "somebody controls it", metadata: "{ownerReferences: [{kind: Pod, name: p, uid: x, controller: true}]}"},
		"Reference":        {reason: "it goes with somebody", metadata: "{ownerReferences: [{kind: Pod, name: p, uid: x}]}"},
		"OwnReference":     {reason: "it goes with this owner", metadata: "{ownerReferences: [{kind: Pod, name: p, uid: owner-uid}]}", free: true},
		"Elsewhere":        {reason: "no ownerReference leads to another namespace", metadata: "{namespace: other, ownerReferences: [{kind: Pod, name: p, uid: owner-uid}]}"},
		"Deleting":         {reason: "it will be gone soon", metadata: "{deletionTimestamp: '2026-01-01T00:00:00Z'}"},
		"EnsureNothing":    {reason: "what a policy ensures has no field existing", metadata: "{}", ensures: true},
		"EnsureClaim":      {reason: "it was made for an owner", metadata: marked("test", "", "claim"), ensures: true},
		"EnsureOtherOwner": {reason: "and is its owner's", metadata: marked("test", live, ""), ensures: true},
		"EnsureLeftBehind": {reason: "also when that is gone", metadata: marked("test", dead, "claim"), ensures: true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "same", "namespace": "default"}}}
			metadata := obj.Object["metadata"].(map[string]any)
			if err := yaml.Unmarshal([]byte(tc.metadata), &metadata); err != nil {
				t.Fatal(err)
			}
			c := Claimant{Policy: "test", Owner: own, Namespace: "default", Lives: func(uid types.UID) bool { return uid != dead }}
			if tc.unknown {
				c.Lives = nil
			}
			if tc.ensures {
				c.Owner, c.Namespace = "", ""
			}
			before := obj.DeepCopy()
			if got := c.MayAdopt(obj); got != tc.free {
				t.Errorf("%s: got %t, want %t", tc.reason, got, tc.free)
			}
			said := NameConflict(obj, c).Message
			if advised := strings.Contains(said, "existing: Adopt") && !strings.Contains(said, "if "); advised != tc.free {
				t.Errorf("%s: free is %t, and it says %q", tc.reason, tc.free, said)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("it was changed: -before +after:\n%s", diff)
			}
		})
	}
}

// marked is the metadata of an object with marks of Ambit; an empty one is left out.
func marked(policy, owner, claim string) string {
	labels, annotations := map[string]any{}, map[string]any{}
	for key, value := range map[string]string{v1alpha1.LabelPolicy: policy, v1alpha1.LabelOwnerUID: owner} {
		if value != "" {
			labels[key] = value
		}
	}
	if claim != "" {
		annotations[v1alpha1.AnnotationClaim] = claim
	}
	text, err := yaml.Marshal(map[string]any{"labels": labels, "annotations": annotations})
	if err != nil {
		panic(err)
	}
	return string(text)
}
