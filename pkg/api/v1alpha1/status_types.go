package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReconcilePolicyStatus says how a policy fares.
type ReconcilePolicyStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// owners is the number of owners that the policy works on, to clean up after them as
	// well: those that left its scope count until that is done.
	// +optional
	Owners int32 `json:"owners"`
	// deniedCount is the number of accesses that are refused at present.
	// +optional
	DeniedCount int32 `json:"deniedCount"`
	// denied are the accesses that are refused at present, the first 32 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Denied []DeniedAccess `json:"denied,omitempty"`
	// conditions are Valid, Permitted and Ready, and Stalled while it is True. Those of
	// other types are left as they are.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeniedAccess is something that the API server refused for want of a right.
type DeniedAccess struct {
	// verb as in a Role, such as `list`.
	// +required
	Verb string `json:"verb"`
	// group is the API group of the resource; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// resource is the plural of the resource, with `/subresource` where one is meant.
	// +required
	Resource string `json:"resource"`
	// namespace is empty for a cluster-wide access.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is empty where any name is meant.
	// +optional
	Name string `json:"name,omitempty"`
	// message is the API server's own.
	// +optional
	Message string `json:"message,omitempty"`
}
