package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ReconcilePolicy describes an operator: the kind it serves (the owner), the
// objects that belong to each owner (children), what else it reads (watches)
// and how the status of the owner is derived.
//
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name becomes the value of a label: at most 63 characters"
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
	// metadata is the standard object metadata. Namespace and name of the policy become
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
//
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || !has(self.children) || self.variables.all(a, !self.children.exists(b, a.name == b.id))",message="a variable and a child have the same name: each name stands for one thing"
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || !has(self.watches) || self.variables.all(a, !self.watches.exists(b, a.name == b.id))",message="a variable and a watch have the same name: each name stands for one thing"
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || !has(self.ensure) || self.variables.all(a, !self.ensure.exists(b, a.name == b.id))",message="a variable and an ensured object have the same name: each name stands for one thing"
// +kubebuilder:validation:XValidation:rule="!has(self.children) || !has(self.watches) || self.children.all(a, !self.watches.exists(b, a.id == b.id))",message="a child and a watch have the same name: each name stands for one thing"
// +kubebuilder:validation:XValidation:rule="!has(self.children) || !has(self.ensure) || self.children.all(a, !self.ensure.exists(b, a.id == b.id))",message="a child and an ensured object have the same name: each name stands for one thing"
// +kubebuilder:validation:XValidation:rule="!has(self.watches) || !has(self.ensure) || self.watches.all(a, !self.ensure.exists(b, a.id == b.id))",message="a watch and an ensured object have the same name: each name stands for one thing"
// +kubebuilder:validation:XValidation:rule="!has(self.children) || self.children.all(a, !has(a.forEach) || !self.children.exists(b, b.id == a.forEach.__as__) && (!has(self.variables) || !self.variables.exists(b, b.name == a.forEach.__as__)) && (!has(self.watches) || !self.watches.exists(b, b.id == a.forEach.__as__)) && (!has(self.ensure) || !self.ensure.exists(b, b.id == a.forEach.__as__)))",message="forEach.as is the name of something else: each name stands for one thing"
// +kubebuilder:validation:XValidation:rule="!has(self.children) || self.children.all(a, !has(a.dependsOn) || !(a.id in a.dependsOn) && sets.contains(self.children.map(b, b.id), a.dependsOn))",message="dependsOn names other children of this policy"
type ReconcilePolicySpec struct {
	// serviceAccountName names a ServiceAccount of the policy's own namespace to
	// act as. Empty: a policy in Ambit's own namespace, or from a file, acts as Ambit
	// itself; one in any other namespace as the ServiceAccount `default`.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// suspend stops the work on all owners of this policy while true; nothing is
	// deleted. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// retire has Ambit clean up after the policy while true, as if the policy were
	// deleted: what it made is removed as each onDelete says, suspended or not, and the
	// owners stay. The reason of Ready is Retiring until that is done, then Retired. The
	// way to end a policy that stands in a file, whose removal deletes nothing. Default
	// false; set back to false, the policy serves its owners again, and makes everything
	// anew.
	// +optional
	Retire bool `json:"retire,omitempty"`
	// scope limits the namespaces that the policy looks at. Empty: a policy in Ambit's
	// own namespace, or from a file, looks at everything that the identity can reach; one
	// in any other namespace at that namespace.
	// +optional
	Scope *Scope `json:"scope,omitempty"`
	// informers says how watches are laid out. Default Auto.
	// +optional
	Informers InformerMode `json:"informers,omitempty"`
	// owner is the kind that the policy serves.
	// +required
	Owner Owner `json:"owner"`
	// variables are named values, computed once for each owner and usable in all
	// expressions after them and in templates. One that reads watches, itself or through
	// others, is not known in what says which objects are watched.
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
	// ensure are objects that the policy itself needs, such as a ClusterRole: made
	// once for the policy, whatever owners there are, and kept as the template says.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	Ensure []Ensured `json:"ensure,omitempty"`
	// protect holds back the deletion of an owner. While it is used, each owner
	// carries the finalizer ambit.dev/cleanup.
	// +optional
	Protect *Protect `json:"protect,omitempty"`
	// deletion says in which order the children of a deleted owner go. Default
	// Background.
	// +optional
	Deletion DeletionOrder `json:"deletion,omitempty"`
	// expire is a CEL expression of type bool, as in
	// reached(timestamp(owner.spec.expiresAt)): while it is true and the owner is not
	// being deleted, nothing is made for it, and the owner itself is deleted, as a user
	// would. Ambit needs the right to delete owners then. An expression that fails
	// deletes nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Expire string `json:"expire,omitempty"`
	// requeueAfter is a CEL expression of type duration, as in duration('10m'):
	// after that time the owner is looked at again even if nothing happened. Less
	// than a second is taken for a second, nothing or less for never.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	RequeueAfter string `json:"requeueAfter,omitempty"`
}

// Variable is a named value.
//
// +kubebuilder:validation:XValidation:rule="!(self.name in ['owner', 'object', 'policy', 'access', 'ready', 'true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while']) && !self.name.startsWith('__')",fieldPath=".name",message="this name is Ambit's own, or a reserved word of CEL"
type Variable struct {
	// name is how expressions refer to the value: a CEL identifier.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// expression is CEL; it may read `owner`, `policy`, watches and variables before it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

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
