package apply_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// tie is how a child is tied to its owner.
type tie string

const (
	byController tie = "Controller"
	byRecord     tie = "Recorded"
	byPolicy     tie = "Ensured"
)

var ties = []tie{byController, byRecord, byPolicy}

var (
	record  = inventory.Inventory{Policy: policyName, TokenSecret: "our random text, 32 bytes of it", Owner: ownerUID}
	another = inventory.Inventory{Policy: policyName, TokenSecret: "the random text of another owner", Owner: otherUID}
	copied  = inventory.Inventory{Policy: policyName, TokenSecret: record.TokenSecret, Owner: otherUID}
)

const (
	policyName = "test" // of manager
	ensuredBy  = "ambit-system/test"
)

// bind puts on an object what ties it to the owner, as the planner does it.
func bind(obj *unstructured.Unstructured, how tie) {
	labels := map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelPolicy: policyName}
	if how != byPolicy {
		labels[v1alpha1.LabelOwnerUID] = string(ownerUID)
	}
	obj.SetLabels(labels)
	switch how {
	case byController:
		control := true
		obj.SetOwnerReferences([]metav1.OwnerReference{reference(ownerUID, &control)})
	case byRecord:
		annotate(obj, v1alpha1.AnnotationClaim, claimOf(record, obj, obj.GetName()))
	case byPolicy:
		annotate(obj, v1alpha1.AnnotationEnsuredBy, ensuredBy)
	}
}

func claimOf(inv inventory.Inventory, obj *unstructured.Unstructured, name string) string {
	return inv.TokenOf(inventory.Entry{Child: "child", GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: name})
}

func reference(uid types.UID, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: "owner", UID: uid, Controller: controller}
}

func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

func controlledBy(uid types.UID) func(*unstructured.Unstructured, tie) {
	return func(obj *unstructured.Unstructured, _ tie) {
		obj.SetOwnerReferences([]metav1.OwnerReference{reference(uid, new(true))})
	}
}

func labels(policy string, owner types.UID) func(*unstructured.Unstructured, tie) {
	return func(obj *unstructured.Unstructured, _ tie) {
		obj.SetLabels(map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelPolicy: policy, v1alpha1.LabelOwnerUID: string(owner),
		})
	}
}

// shape is what is there instead of our object.
type shape struct {
	reason string
	// shape changes the object of somebody else, which has what the policy wants, or
	// with other what it does not. Each of several is applied.
	shape []func(*unstructured.Unstructured, tie)
	other bool
	// manager made it; empty: "somebody".
	manager string
	// lingers: it was deleted, and a finalizer holds it.
	lingers bool
	// late: it is made between the check and the write.
	late bool
	// ties are those that it is about; nil: all.
	ties []tie
	// names is what the message says beside the object's name.
	names string
}

type change = func(*unstructured.Unstructured, tie)

// shapes are objects that are not ours, whatever they look like.
var shapes = map[string]shape{
	"NoOwner":         {reason: "somebody made it by hand", names: "has no controller"},
	"DisjointFields":  {reason: "it has none of our fields: nothing is co-owned", other: true, names: "has no controller"},
	"OtherController": {reason: "another operator's", shape: []change{controlledBy(otherUID)}, names: string(otherUID)},
	"OldUID":          {reason: "of a former owner with our owner's name, labels and all", shape: []change{bound, controlledBy(otherUID)}, names: string(otherUID)},
	"SamePolicyOtherOwner": {reason: "another owner's child of our policy", names: string(otherUID),
		shape: []change{labels(policyName, otherUID), controlledBy(otherUID)}, manager: manager, ties: []tie{byController, byRecord}},
	"OtherPolicy": {reason: "another policy's child", shape: []change{labels("another", otherUID), controlledBy(otherUID)}, names: string(otherUID)},
	"OtherPolicySameOwner": {reason: "made for the same owner by another policy", ties: []tie{byController, byRecord},
		shape: []change{bound, labels("another", ownerUID)}, names: `policy "another"`},
	"ByTheOwnersController": {reason: "owners of built-in kinds control what their own controllers make", ties: []tie{byController},
		shape: []change{controlledBy(ownerUID)}, names: "has not made it"},
	"CopiedRecord": {reason: "somebody copied an owner with its record: what that has is still the first one's", ties: []tie{byRecord},
		shape: []change{bound, labels(policyName, otherUID)}, manager: manager, names: "another owner"},
	"CopiedSecret": {reason: "the claim of the owner whose record it was", ties: []tie{byRecord}, manager: manager,
		shape: []change{bound, func(obj *unstructured.Unstructured, _ tie) {
			annotate(obj, v1alpha1.AnnotationClaim, claimOf(copied, obj, obj.GetName()))
		}}, names: "has no controller"},
	"ForgedLabels": {reason: "labels are an index, not a proof", shape: []change{labels(policyName, ownerUID)}, names: "has no controller"},
	"SmuggledClaim": {reason: "the right claim, that the policy merged for whoever writes the owner", ties: []tie{byRecord},
		shape: []change{bound}, manager: v1alpha1.MergeManager(policyName, ownerUID), names: "has no controller"},
	"WrittenClaim": {reason: "the right claim, that somebody wrote who knows it", ties: []tie{byRecord, byPolicy},
		shape: []change{bound}, names: "has no controller"},
	"SameContent": {reason: "all is as we want it but the proof", shape: []change{bound, unproven},
		manager: manager, names: "has no controller"},
	"ForgedReference": {reason: "an ownerReference that is not the controller's proves nothing", names: "has no controller",
		shape: []change{bound, unproven, func(obj *unstructured.Unstructured, _ tie) {
			obj.SetOwnerReferences([]metav1.OwnerReference{reference(ownerUID, nil)})
		}}},
	"SecondReference": {reason: "nor beside another controller", names: string(otherUID),
		shape: []change{bound, func(obj *unstructured.Unstructured, _ tie) {
			obj.SetOwnerReferences([]metav1.OwnerReference{reference(ownerUID, nil), reference(otherUID, new(true))})
		}}},
	"NoUIDController": {reason: "the controller has our owner's kind and name, and a uid that only begins like ours", names: "-1111-",
		shape: []change{bound, controlledBy(ownerUID[:len(ownerUID)-1] + "2")}},
	"ForgedClaim": {reason: "a claim that was made up", ties: []tie{byRecord, byController, byPolicy}, names: "has no controller",
		shape: []change{bound, unproven, func(obj *unstructured.Unstructured, _ tie) {
			annotate(obj, v1alpha1.AnnotationClaim, "0123456789abcdef0123456789abcdef")
		}}},
	"ClaimOfAnotherOwner": {reason: "a claim holds for one owner", ties: []tie{byRecord}, names: "has no controller",
		shape: []change{bound, func(obj *unstructured.Unstructured, _ tie) {
			annotate(obj, v1alpha1.AnnotationClaim, claimOf(another, obj, obj.GetName()))
		}}},
	"ClaimOfAnotherObject": {reason: "and for one object: this is a copy", ties: []tie{byRecord}, names: "has no controller",
		shape: []change{bound, func(obj *unstructured.Unstructured, _ tie) {
			annotate(obj, v1alpha1.AnnotationClaim, claimOf(record, obj, "original"))
		}}},
	"ClaimUnderController": {reason: "nor does it hold against a controller", ties: []tie{byRecord, byPolicy}, manager: manager,
		shape: []change{bound, controlledBy(otherUID)}, names: string(otherUID)},
	"ForgedEnsured": {reason: "what names us was not written by us", ties: []tie{byPolicy}, shape: []change{bound}, names: "has no controller"},
	"EnsuredByAnother": {reason: "a policy of our name in another namespace has our manager", ties: []tie{byPolicy}, manager: manager,
		shape: []change{bound, func(obj *unstructured.Unstructured, _ tie) {
			annotate(obj, v1alpha1.AnnotationEnsuredBy, "elsewhere/test")
		}}, names: "has no controller"},
	"Terminating":   {reason: "somebody else's that is on its way out", shape: []change{bound, controlledBy(otherUID)}, lingers: true, names: "being deleted"},
	"MadeMeanwhile": {reason: "made between the check and the write", shape: []change{labels(policyName, ownerUID)}, late: true, names: "has no controller"},
}

// bound has our proof, by every tie.
func bound(obj *unstructured.Unstructured, how tie) { bind(obj, how) }

// unproven takes the proof away, and leaves the rest.
func unproven(obj *unstructured.Unstructured, _ tie) {
	obj.SetOwnerReferences(nil)
	annotations := obj.GetAnnotations()
	delete(annotations, v1alpha1.AnnotationClaim)
	delete(annotations, v1alpha1.AnnotationEnsuredBy)
	obj.SetAnnotations(annotations)
}
