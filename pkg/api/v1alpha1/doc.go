// Package v1alpha1 holds the API of Ambit: the ReconcilePolicy type, and the
// names that other programs see on owners and children (condition types,
// reasons, labels, finalizer, field manager).
//
// The package knows nothing of CEL, watching or applying. Whether a policy is
// well-formed beyond its shape is decided by package policy.
//
// +kubebuilder:object:generate=true
// +groupName=ambit.dev
package v1alpha1
