package v1alpha1

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Labels and annotations that Ambit puts on children. They are an index for
// finding children, never the proof that a child is ours: the proof is the uid
// in the controller ownerReference.
const (
	// LabelManagedBy has the value ManagedBy on every child.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelPolicy says which policy made the child: see PolicyLabel.
	LabelPolicy = "ambit.dev/policy"
	// LabelOwnerUID holds the uid of the owner that the child was made for.
	LabelOwnerUID = "ambit.dev/owner-uid"

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "ambit"
)

// IsReservedKey reports whether the key of a label or annotation, or a finalizer, is
// Ambit's own: no template sets it.
func IsReservedKey(key string) bool { return strings.HasPrefix(key, GroupVersion.Group+"/") }

// AnnotationFields is on every child: a record of which fields the child had
// when it was written last, by which the next writer tells a field that the
// policy no longer has from one that the API server sets by default.
const AnnotationFields = "ambit.dev/fields"

// AnnotationChildren is on an owner that has children which no ownerReference can
// tie to it, or whose fields it manages in objects of others: a record of them,
// written before they are; and beside FinalizerCleanup. It names the policy that both
// are of: no other one touches them. Package plan has its form.
const AnnotationChildren = "ambit.dev/children"

// AnnotationClaim is on a child that is tied to its owner by the owner's record: it
// proves, together with the record, that the child was made for this owner, and for
// which child; and whether it is to be left behind. It counts only if the policy's own
// field manager wrote it.
const AnnotationClaim = "ambit.dev/claim"

// AnnotationChild is the id of the child that an object was made for, where something is to be
// decided by it when the child may be gone: with forEach that keeps some of those whose element
// is gone, and with deletion Ordered.
const AnnotationChild = "ambit.dev/child"

// AnnotationGeneration is on children whose owner is a child itself, and on those that may
// be owners of the policy that made them: how many owners made each other up to this one.
const AnnotationGeneration = "ambit.dev/generation"

// AnnotationEnsuredBy is on an object that a policy ensures: the policy, as
// `namespace/name`.
const AnnotationEnsuredBy = "ambit.dev/ensured-by"

// LabelPolicySource is on a ConfigMap that holds policies, with the value PolicySourceValue.
// No template can set it: see IsReservedKey.
const (
	LabelPolicySource = "ambit.dev/policy-source"
	PolicySourceValue = "true"
)

// PolicySourceSelector selects the ConfigMaps that policies are read from. What Ambit makes itself never
// has LabelPolicySource; that it is no source of policies does not rest on that alone.
const PolicySourceSelector = LabelPolicySource + "=" + PolicySourceValue + "," + LabelManagedBy + "!=" + ManagedBy

// AnnotationMade is on a Secret with values that Ambit made: since when each is there, and for which
// AnnotationRotate, as JSON by key. Values of these keys are never kept or shown.
const AnnotationMade = "ambit.dev/made"

// AnnotationRotate is what a user sets on such a Secret, to any other text than before, to have its values
// made anew.
const AnnotationRotate = "ambit.dev/rotate"

// AnnotationStatus is on a ConfigMap that holds policies, where it may be written: how
// they fare, as a JSON list. Only transitions are written.
const AnnotationStatus = "ambit.dev/status"

// FinalizerCleanup stands on an owner only where garbage collection cannot
// remove its children, or must not yet: there are children in other namespaces or
// without one, fields in objects of others, protect, or an order of deletion. On a
// ReconcilePolicy it stands while the policy is run, so that a policy that is deleted
// cleans up first.
const FinalizerCleanup = "ambit.dev/cleanup"

// PolicyID returns how metrics, logs and messages name a policy: its namespace, if it has one, and its name,
// joined by a slash.
func PolicyID(namespace, name string) string { return strings.TrimPrefix(namespace+"/"+name, "/") }

// maxLabel is how many characters the value of a label may have.
const maxLabel = 63

// PolicyLabel returns how labels, records and field managers name a policy: its namespace, if it has one,
// and its name, joined by a dot. No two policies have the same: a namespace has no dot. What would be
// longer than 63 characters, as the value of a label may be, is its beginning, an underscore, which no name
// has, and half of its SHA-256 in hex.
func PolicyLabel(namespace, name string) string {
	label := strings.TrimPrefix(namespace+"."+name, ".")
	if len(label) <= maxLabel {
		return label
	}
	digest := sha256.Sum256([]byte(label))
	hash := hex.EncodeToString(digest[:sha256.Size/2])
	return label[:maxLabel-1-len(hash)] + "_" + hash
}

// FieldManager returns the name under which the policy of a PolicyLabel manages fields, on children and
// on the status of owners.
func FieldManager(policyLabel string) string { return "ambit/" + policyLabel }

// MergeManager returns the name under which the policy of a PolicyLabel manages the fields that it
// adds to objects of others on behalf of one owner. Each owner has its own, so that
// one does not remove what another has added. It has at most 106 characters; the API
// server takes 128.
func MergeManager(policyLabel string, owner types.UID) string {
	return FieldManager(policyLabel) + "/" + string(owner)
}

// Verbs are the verbs that Ambit ever needs on a resource, in the order in which
// they are listed everywhere: as kubectl does it, from reading to deleting.
func Verbs() []string { return []string{"get", "list", "watch", "create", "patch", "delete"} }

// CompareVerbs orders verbs as Verbs does; others come after them, by name.
func CompareVerbs(a, b string) int {
	rank := func(verb string) int {
		if i := slices.Index(Verbs(), verb); i >= 0 {
			return i
		}
		return len(Verbs())
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}
