package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Scope limits the namespaces that a policy looks at.
type Scope struct {
	// namespaces are names of namespaces. Empty: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`
	// namespaceSelector selects namespaces by their labels, in addition to those in
	// `namespaces`; it is followed as labels change. Ambit must be allowed to list
	// and watch namespaces for it.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// exclude are names of namespaces that are left out, whatever else selects
	// them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Exclude []string `json:"exclude,omitempty"`
}

// Owner is the kind that a policy serves.
type Owner struct {
	// apiVersion is the group and version of the owner, as in `apps/v1`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[a-z]([-a-z0-9]*[a-z0-9])?$`
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the owner.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
	// selector selects owners by label; the API server evaluates it.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// filter is a CEL expression over `object` of type bool: owners for which it is
	// false are left alone. What was made for an owner while it matched is removed, as
	// onDelete says, when it stops matching the filter or the selector.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Filter string `json:"filter,omitempty"`
}

// Condition is a condition on the owner; each field but type is bare CEL.
//
// +kubebuilder:validation:XValidation:rule="!(self.type in ['Ready', 'Reconciling', 'Stalled', 'Permitted'])",fieldPath=".type",message="conditions of this type are Ambit's own"
type Condition struct {
	// type of the condition, literal. Ready, Reconciling, Stalled and Permitted
	// are Ambit's own.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	Type string `json:"type"`
	// status is a CEL expression: a bool, or one of 'True', 'False', 'Unknown'.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Status string `json:"status"`
	// reason is a CEL expression of type string: a CamelCase word. Default: the
	// status of the condition, as a word.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Reason string `json:"reason,omitempty"`
	// message is a CEL expression of type string. Default empty.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}

// Protect holds back the deletion of an owner.
type Protect struct {
	// while is a CEL expression of type bool, over all that status may read: as long
	// as it is true, or cannot be evaluated, a deleted owner and its children stay,
	// and its condition Ready has the reason Protected. What is changed in the
	// children meanwhile is not put back. ready(child) is false while that child is rolled
	// out, and by what whoever writes its status says: to protect what is there, ask
	// whether it is there.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	While string `json:"while"`
	// message is a CEL expression of type string: why, for the owner's condition.
	// Default: the expression in `while`.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}

// DeletionOrder says in which order the children of a deleted owner go.
// +kubebuilder:validation:Enum=Background;Ordered
type DeletionOrder string

// The deletion orders.
const (
	// DeletionBackground leaves it to the garbage collector where that can do it: in
	// any order, after the owner.
	DeletionBackground DeletionOrder = "Background"
	// DeletionOrdered deletes each child before those that it depends on, and the
	// owner last. Each owner carries the finalizer ambit.dev/cleanup for that.
	DeletionOrdered DeletionOrder = "Ordered"
)
