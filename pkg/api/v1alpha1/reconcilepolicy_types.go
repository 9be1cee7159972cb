package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ReconcilePolicy describes an operator: the kind it serves (the owner), the
// objects that belong to each owner (children), what else it reads (watches)
// and how the status of the owner is derived.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=rpol
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.spec.owner.kind`
// +kubebuilder:printcolumn:name="Owners",type=integer,JSONPath=`.status.owners`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Denied",type=integer,JSONPath=`.status.deniedCount`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ReconcilePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name of the policy becomes
	// part of its field manager and the value of a label on every child.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec describes the operator.
	// +required
	Spec ReconcilePolicySpec `json:"spec"`
	// status says how the policy fares. Set by Ambit.
	// +optional
	Status ReconcilePolicyStatus `json:"status,omitempty"`
}

// ReconcilePolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type ReconcilePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the policies.
	// +required
	Items []ReconcilePolicy `json:"items"`
}

// ReconcilePolicySpec describes the operator.
type ReconcilePolicySpec struct {
	// serviceAccountName names a ServiceAccount of the policy's own namespace to
	// act as. Empty: act as Ambit itself.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// suspend stops the work on all owners of this policy while true; nothing is
	// deleted. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// scope limits the namespaces that the policy looks at. Empty: everything
	// that the identity can reach.
	// +optional
	Scope *Scope `json:"scope,omitempty"`
	// informers says how watches are laid out. Default Auto.
	// +optional
	Informers InformerMode `json:"informers,omitempty"`
	// owner is the kind that the policy serves.
	// +required
	Owner Owner `json:"owner"`
	// variables are named values, computed once for each owner and usable in all
	// expressions after them and in templates.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`
	// children are the objects made for each owner.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	Children []Child `json:"children,omitempty"`
	// watches are objects that the policy reads and does not own.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	Watches []Watch `json:"watches,omitempty"`
	// status is a template, written to the status of the owner. Its keys are
	// fields of the owner's status; `conditions` is not allowed here.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Status *runtime.RawExtension `json:"status,omitempty"`
	// conditions are set on the owner beside Ambit's own.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []Condition `json:"conditions,omitempty"`
	// requeueAfter is a CEL expression of type duration, as in duration('10m'):
	// after that time the owner is looked at again even if nothing happened. Less
	// than a second is taken for a second, nothing or less for never.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	RequeueAfter string `json:"requeueAfter,omitempty"`
}

// Scope limits the namespaces that a policy looks at.
type Scope struct {
	// namespaces are names of namespaces. Empty: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	Namespaces []string `json:"namespaces,omitempty"`
	// namespaceSelector selects namespaces by their labels, as well as those in
	// `namespaces`.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// exclude are names of namespaces that are left out, whatever else selects
	// them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	Exclude []string `json:"exclude,omitempty"`
}

// InformerMode says how watches are laid out.
// +kubebuilder:validation:Enum=Auto;Owner;Namespace;Cluster
type InformerMode string

// The informer modes.
const (
	// InformersAuto chooses by the number of owners.
	InformersAuto InformerMode = "Auto"
	// InformersOwner gives each owner streams of its own.
	InformersOwner InformerMode = "Owner"
	// InformersNamespace shares one stream among the owners of a namespace.
	InformersNamespace InformerMode = "Namespace"
	// InformersCluster uses cluster-wide streams.
	InformersCluster InformerMode = "Cluster"
)

// Owner is the kind that a policy serves.
type Owner struct {
	// apiVersion is the group and version of the owner, as in `apps/v1`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the owner.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// selector selects owners by label; the API server evaluates it.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// filter is a CEL expression over `object` of type bool: owners for which it
	// is false are left alone.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Filter string `json:"filter,omitempty"`
}

// Variable is a named value.
type Variable struct {
	// name is how expressions refer to the value: a CEL identifier.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// expression is CEL; it may read `owner`, `policy` and variables before it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

// Child is an object that the policy makes and owns.
type Child struct {
	// id is how expressions refer to the live object: a CEL identifier.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`
	// when is a CEL expression of type bool: while it is false the child is not
	// wanted, and is deleted if it is there and ours. Default true.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	When string `json:"when,omitempty"`
	// forEach makes one object for each element of a list.
	// +optional
	ForEach *ForEach `json:"forEach,omitempty"`
	// template is the object; `${...}` in its strings holds CEL. apiVersion and
	// kind are literal. The namespace is the owner's.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Template *runtime.RawExtension `json:"template"`
	// readyWhen are CEL expressions of type bool over the live object (by the
	// child's id): the child is ready when all are true. Default: ready when it
	// exists.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ReadyWhen []string `json:"readyWhen,omitempty"`
	// apply says how the object is kept. Default Apply.
	// +optional
	Apply ApplyMode `json:"apply,omitempty"`
	// existing says what happens when an object of that name exists and is not
	// ours. Default Refuse.
	// +optional
	Existing ExistingMode `json:"existing,omitempty"`
	// onDelete says what happens to the object when it is no longer wanted.
	// Default Delete.
	// +optional
	OnDelete DeleteMode `json:"onDelete,omitempty"`
	// dependsOn are ids of children that must exist and be ready first, beyond
	// those that the expressions already read.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	DependsOn []string `json:"dependsOn,omitempty"`
}

// ForEach makes one object for each element of a list.
type ForEach struct {
	// as is how expressions refer to the element: a CEL identifier.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	As string `json:"as"`
	// in is a CEL expression of type list.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	In string `json:"in"`
}

// ApplyMode says how a child is kept.
// +kubebuilder:validation:Enum=Apply;Create;Recreate
type ApplyMode string

// The apply modes.
const (
	// ApplyApply keeps the object as the template says.
	ApplyApply ApplyMode = "Apply"
	// ApplyCreate makes the object once and then leaves it.
	ApplyCreate ApplyMode = "Create"
	// ApplyRecreate deletes the object and makes it anew when the template changes.
	ApplyRecreate ApplyMode = "Recreate"
)

// ExistingMode says what happens to an object of the wanted name that is not ours.
// +kubebuilder:validation:Enum=Refuse;Adopt;Merge
type ExistingMode string

// The modes for existing objects.
const (
	// ExistingRefuse leaves the object as it is and reports NameConflict.
	ExistingRefuse ExistingMode = "Refuse"
	// ExistingAdopt makes the object ours.
	ExistingAdopt ExistingMode = "Adopt"
	// ExistingMerge manages only the templated fields of the object.
	ExistingMerge ExistingMode = "Merge"
)

// DeleteMode says what happens to a child that is no longer wanted.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeleteMode string

// The delete modes.
const (
	// DeleteDelete deletes the object.
	DeleteDelete DeleteMode = "Delete"
	// DeleteOrphan leaves the object behind.
	DeleteOrphan DeleteMode = "Orphan"
)

// Watch is a set of objects that the policy reads and does not own.
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
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// selector selects the objects by label, in the owner's namespace. Values may
	// hold `${...}` over `owner`, `policy` and variables.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// filter is a CEL expression over `object` and `owner` of type bool: objects
	// for which it is false are left out.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Filter string `json:"filter,omitempty"`
}

// Condition is a condition on the owner; each field but type is bare CEL.
type Condition struct {
	// type of the condition, literal. Ready, Reconciling, Stalled and Permitted
	// are Ambit's own.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
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

// ReconcilePolicyStatus says how a policy fares.
type ReconcilePolicyStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// owners is the number of owners that the policy works on.
	// +optional
	Owners int32 `json:"owners,omitempty"`
	// deniedCount is the number of accesses that are refused at present.
	// +optional
	DeniedCount int32 `json:"deniedCount,omitempty"`
	// denied are the accesses that are refused at present, the first 32 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Denied []DeniedAccess `json:"denied,omitempty"`
	// conditions are Valid, Permitted, Ready and Stalled.
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
