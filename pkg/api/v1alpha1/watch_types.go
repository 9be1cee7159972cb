package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Watch is a set of objects that the policy reads and does not own.
//
// +kubebuilder:validation:XValidation:rule="!(self.id in ['owner', 'object', 'policy', 'access', 'ready', 'true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while']) && !self.id.startsWith('__')",fieldPath=".id",message="this name is Ambit's own, or a reserved word of CEL"
type Watch struct {
	// id is how expressions refer to the list of objects: a CEL identifier.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`
	// apiVersion is the group and version of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[a-z]([-a-z0-9]*[a-z0-9])?$`
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
	// name selects the object of this name; it may hold `${...}` over `owner`,
	// `policy` and variables.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Name string `json:"name,omitempty"`
	// namespace is where the objects are; it may hold `${...}` over `owner`, `policy`
	// and variables. `*` stands for all namespaces in which they may be listed and
	// watched: one in which that is no longer so counts as one without such objects, and
	// what was made for them goes. It is written as it is: from an expression it would let
	// whoever writes owners choose how much is watched, so it is refused there.
	// Default: the owner's; all if the owner has none.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Namespace string `json:"namespace,omitempty"`
	// selector selects the objects by label. Values may hold `${...}` over `owner`,
	// `policy` and variables.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// fieldSelector selects the objects by fields, as in
	// `spec.nodeName=${owner.spec.node}`; the API server evaluates it and says which
	// fields it knows.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	FieldSelector string `json:"fieldSelector,omitempty"`
	// filter is a CEL expression over `object` and `owner` of type bool: objects
	// for which it is false are left out.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Filter string `json:"filter,omitempty"`
}

// InformerMode says how watches are laid out.
// +kubebuilder:validation:Enum=Auto;Owner;Namespace;Cluster
type InformerMode string

// The informer modes.
const (
	// InformersAuto chooses by the number of owners, and of their namespaces.
	InformersAuto InformerMode = "Auto"
	// InformersOwner gives each owner streams of its own.
	InformersOwner InformerMode = "Owner"
	// InformersNamespace shares one stream among the owners of a namespace.
	InformersNamespace InformerMode = "Namespace"
	// InformersCluster uses cluster-wide streams.
	InformersCluster InformerMode = "Cluster"
)
