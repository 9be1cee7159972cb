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

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group, Version and Kind name the policy type; Resource is its plural.
const (
	Group    = "ambit.dev"
	Version  = "v1alpha1"
	Kind     = "ReconcilePolicy"
	Resource = "reconcilepolicies"
)

// GroupVersion is the group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers the types of this package with s. It returns no error
// of its own; the signature is the one that scheme builders expect.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &ReconcilePolicy{}, &ReconcilePolicyList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
