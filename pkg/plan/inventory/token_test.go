package inventory

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func TestTokenOf(t *testing.T) {
	inv := Inventory{TokenSecret: testSecret, Owner: "owner-uid"}
	entry := entryOf("web", "apps/v1", "Deployment", "a/web/uid-1")
	with := func(change func(e *Entry)) string {
		e := entry
		change(&e)
		return inv.TokenOf(e)
	}
	token := inv.TokenOf(entry)
	if len(token) != 32 || token != with(func(e *Entry) { e.UID, e.Rank, e.GVK.Version = "", 3, "v2" }) ||
		token != with(func(e *Entry) { e.Child, e.TokenChild = "other", "web" }) {
		t.Fatalf("the token %q is not stable, or not of 32 characters", token)
	}
	others := []string{
		with(func(e *Entry) { e.Namespace, e.Name = "aw", "eb" }), with(func(e *Entry) { e.Name = "web2" }),
		with(func(e *Entry) { e.GVK.Group = "" }), with(func(e *Entry) { e.GVK.Kind = "Pod" }),
		with(func(e *Entry) { e.Child = "other" }), with(func(e *Entry) { e.Orphan = true }),
		Inventory{TokenSecret: "another claim of an owner", Owner: "owner-uid"}.TokenOf(entry),
		Inventory{TokenSecret: testSecret, Owner: "another-uid"}.TokenOf(entry),
	}
	for _, other := range others {
		if other == token {
			t.Errorf("two objects have the token %q", token)
		}
	}
}

// tokenObject is a Deployment with a token that the manager has written.
func tokenObject(token, manager string, change func(obj *unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
		"namespace": "a", "name": "web", "uid": "uid-1",
		"managedFields": []any{map[string]any{"manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": map[string]any{
			"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + v1alpha1.AnnotationClaim: map[string]any{}}},
		}}},
	}}}
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationClaim: token})
	if change != nil {
		change(obj)
	}
	return obj
}

func TestProve(t *testing.T) {
	inv := Inventory{Policy: "test", TokenSecret: testSecret, Owner: "owner-uid"}
	entry := entryOf("web", "apps/v1", "Deployment", "a/web/uid-1")
	orphan, merged, intent := entry, entry, entry
	orphan.Orphan, merged.Merged, intent.UID = true, true, ""
	us, token := v1alpha1.FieldManager("test"), inv.TokenOf(entry)
	controller := func(uid types.UID) func(obj *unstructured.Unstructured) {
		yes := true
		return func(obj *unstructured.Unstructured) {
			obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "x", UID: uid, Controller: &yes}})
		}
	}
	for name, tc := range map[string]struct {
		reason       string
		inv          Inventory
		entry        Entry
		object       *unstructured.Unstructured
		orphan, ours bool
	}{
		"Known":       {"The token, its writer and the uid agree.", inv, entry, tokenObject(token, us, nil), false, true},
		"Intent":      {"An entry without a uid is of an object that was about to be made.", inv, intent, tokenObject(token, us, nil), false, true},
		"Orphan":      {"The token says that the object is left behind, whatever the entry says.", inv, entry, tokenObject(inv.TokenOf(orphan), us, nil), true, true},
		"Edited":      {"And the other way round.", inv, orphan, tokenObject(token, us, nil), false, true},
		"Controlled":  {"The owner may be the controller as well.", inv, entry, tokenObject(token, us, controller("owner-uid")), false, true},
		"OtherUID":    {"It is another object of that name.", inv, entry, tokenObject(token, us, func(obj *unstructured.Unstructured) { obj.SetUID("uid-2") }), false, false},
		"OtherWriter": {"Whoever copies the token is not the policy's manager.", inv, entry, tokenObject(token, "kubectl", nil), false, false},
		"MergedField": {"What was merged is the choice of whoever writes the owner.", inv, entry, tokenObject(token, v1alpha1.MergeManager("test", "owner-uid"), nil), false, false},
		"Stolen":      {"Somebody else controls it.", inv, entry, tokenObject(token, us, controller("other-uid")), false, false},
		"Merged":      {"A merged entry proves nothing.", inv, merged, tokenObject(token, us, nil), false, false},
		"NoToken":     {"An entry alone proves nothing.", inv, entry, tokenObject("", us, nil), false, false},
		"OtherToken":  {"A token is for one object.", inv, entry, tokenObject(inv.TokenOf(entryOf("web", "apps/v1", "Deployment", "a/other/")), us, nil), false, false},
		"NoOwner":     {"Without the owner's uid an inventory proves nothing.", Inventory{Policy: "test", TokenSecret: testSecret}, entry, tokenObject(Inventory{TokenSecret: testSecret}.TokenOf(entry), us, nil), false, false},
		"NoSecret":    {"Without a secret anybody can make the token.", Inventory{Policy: "test", Owner: "owner-uid"}, entry, tokenObject(Inventory{Owner: "owner-uid"}.TokenOf(entry), us, nil), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if orphan, ours := tc.inv.ProveOwnership(tc.entry, tc.object); orphan != tc.orphan || ours != tc.ours {
				t.Errorf("%s got orphan %t, ours %t", tc.reason, orphan, ours)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	inv := Inventory{TokenSecret: testSecret, Owner: "owner-uid"}
	entry := entryOf("web", "apps/v1", "Deployment", "a/web/uid-1")
	edited := entry
	edited.Orphan = true
	if got := inv.OwnershipTokens(entry); len(got) != 2 || got[0] != inv.TokenOf(entry) || got[1] != inv.TokenOf(edited) {
		t.Errorf("both fates have a token, that of the entry first: %q", got)
	}
	if got := inv.OwnershipTokens(edited); got[0] != inv.TokenOf(edited) || got[1] != inv.TokenOf(entry) {
		t.Errorf("and the other way round: %q", got)
	}
}
