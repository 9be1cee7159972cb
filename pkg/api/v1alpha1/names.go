package v1alpha1

// Labels and annotations that Ambit puts on children. They are an index for
// finding children, never the proof that a child is ours: the proof is the uid
// in the controller ownerReference.
const (
	// LabelManagedBy has the value ManagedBy on every child.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelPolicy holds the name of the policy that made the child.
	LabelPolicy = "ambit.dev/policy"
	// LabelOwnerUID holds the uid of the owner that the child was made for.
	LabelOwnerUID = "ambit.dev/owner-uid"

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "ambit"
)

// AnnotationFields is on every child: a record of which fields the child had
// when it was written last, by which the next writer tells a field that the
// policy no longer has from one that the API server sets by default.
const AnnotationFields = "ambit.dev/fields"

// FinalizerCleanup stands on an owner only where garbage collection cannot
// remove its children.
const FinalizerCleanup = "ambit.dev/cleanup"

// FieldManager returns the name under which the policy of the given name
// manages fields, on children and on the status of owners.
func FieldManager(policy string) string { return "ambit/" + policy }
