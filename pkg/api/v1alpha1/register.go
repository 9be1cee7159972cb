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
