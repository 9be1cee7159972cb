package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// Child is an object that the policy makes and owns.
//
// +kubebuilder:validation:XValidation:rule="!(self.id in ['owner', 'object', 'policy', 'access', 'ready', 'true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while']) && !self.id.startsWith('__')",fieldPath=".id",message="this name is Ambit's own, or a reserved word of CEL"
// +kubebuilder:validation:XValidation:rule="has(self.forEach) || !has(self.keep) && !has(self.keepWhen) && !has(self.update)",message="keep, keepWhen and update are for a child with forEach"
// +kubebuilder:validation:XValidation:rule="!has(self.keep) || !has(self.keepWhen)",message="keep and keepWhen exclude each other"
// +kubebuilder:validation:XValidation:rule="!has(self.existing) || self.existing != 'Merge' || !has(self.onDelete) && !has(self.keep) && !has(self.keepWhen)",message="existing: Merge never deletes an object: it goes without onDelete, keep and keepWhen"
// +kubebuilder:validation:XValidation:rule="!has(self.existing) || self.existing != 'Merge' || !has(self.apply) || self.apply == 'Apply'",message="existing: Merge never makes an object: it goes with apply: Apply only"
// +kubebuilder:validation:XValidation:rule="!has(self.make) || (!has(self.existing) || self.existing != 'Merge') && (!has(self.apply) || self.apply == 'Apply')",message="make goes with apply: Apply, and not with existing: Merge"
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
	// forEach makes one object for each element of a list; the child's id then stands
	// for the list of live objects, in the order of the elements. An object is known by
	// its name: elements may move within the list, and two must not give one name.
	// +optional
	ForEach *ForEach `json:"forEach,omitempty"`
	// template is the object; `${...}` in its strings holds CEL. apiVersion and
	// kind are literal. Without a namespace it is made in the owner's; an owner
	// without one has to say it, unless the kind has none either.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Template *runtime.RawExtension `json:"template"`
	// make are values of a Secret that nobody may choose: passwords, keys, certificates. The plan has their
	// recipe alone; whoever writes the Secret makes them. What is there and valid is never made anew. The
	// template must not set their keys. Private ones can be read nowhere in the policy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Make []MadeValue `json:"make,omitempty"`
	// readyWhen are CEL expressions of type bool over the live object (by the
	// child's id): the child is ready when all are true. With forEach they are asked of
	// each object: the id then stands for that one, and the element has its name.
	// Default: what its status says, as kstatus reads it: a Deployment is rolled out, a Job
	// is complete, a PersistentVolumeClaim is bound, a CustomResourceDefinition is
	// established, a custom resource's conditions say so. An object whose kind has nothing of
	// that is ready when it exists, and so is one that is merged into. readyWhen takes the
	// place of that: `["true"]` makes it ready when it exists.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ReadyWhen []string `json:"readyWhen,omitempty"`
	// apply says how the object is kept. Default Apply.
	// +optional
	Apply ApplyMode `json:"apply,omitempty"`
	// update says how many objects of a forEach are changed at a time. Default
	// Parallel.
	// +optional
	Update UpdateMode `json:"update,omitempty"`
	// keep is how many objects whose element is gone from the list stay: the newest
	// ones, by the time they were made. Only with forEach. Default 0: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Keep int32 `json:"keep,omitempty"`
	// keepWhen is a CEL expression of type bool over `object`, asked of each object whose
	// element is gone from the list: while it is true the object stays, else it is deleted.
	// It sees all that `status` sees but `access`, and may ask the time. While it fails, or reads what
	// is not known yet, all these objects stay. Only with forEach, and not beside keep.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	KeepWhen string `json:"keepWhen,omitempty"`
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
	// +kubebuilder:validation:items:MaxLength=63
	DependsOn []string `json:"dependsOn,omitempty"`
}

// ForEach makes one object for each element of a list.
//
// +kubebuilder:validation:XValidation:rule="!(self.__as__ in ['owner', 'object', 'policy', 'access', 'ready', 'true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while']) && !self.__as__.startsWith('__')",fieldPath=".as",message="this name is Ambit's own, or a reserved word of CEL"
type ForEach struct {
	// as is how expressions refer to the element: a CEL identifier.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	As string `json:"as"`
	// in is a CEL expression of type list, with at most 1,000 elements of any type.
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
	// ApplyCreate makes the object if it is not there, and never changes it, also not
	// when `existing: Adopt` makes one ours that was there before.
	ApplyCreate ApplyMode = "Create"
	// ApplyRecreate deletes the object and makes it anew when the template changes, or
	// somebody else changes a field that the template sets. What others set beside, and
	// what the API server or admission makes of it, is no difference. A field that
	// admission takes away when the object is made is noticed once more after each
	// start of Ambit: the object is then made anew once.
	ApplyRecreate ApplyMode = "Recreate"
)

// UpdateMode says how many objects of a forEach are changed at a time.
// +kubebuilder:validation:Enum=Parallel;OneByOne
type UpdateMode string

// The update modes.
const (
	// UpdateParallel makes and changes all objects at once.
	UpdateParallel UpdateMode = "Parallel"
	// UpdateOneByOne makes or changes an object only when those of all elements
	// before it are as wanted and ready.
	UpdateOneByOne UpdateMode = "OneByOne"
)

// ExistingMode says what happens to an object of the wanted name that is not ours.
// +kubebuilder:validation:Enum=Refuse;Adopt;Merge
type ExistingMode string

// The modes for existing objects.
const (
	// ExistingRefuse leaves the object as it is and reports NameConflict.
	ExistingRefuse ExistingMode = "Refuse"
	// ExistingAdopt makes the object ours, unless it has a controller or belongs to
	// another owner or policy. With `apply: Create` it is only tied to its owner, by
	// labels, annotations and an ownerReference of Ambit's, and otherwise stays as it is.
	ExistingAdopt ExistingMode = "Adopt"
	// ExistingMerge decorates an object that somebody else makes: it is waited for and
	// never made or deleted here, only the fields in the template are managed, without
	// taking any from other managers, and removed when the child is no longer wanted.
	ExistingMerge ExistingMode = "Merge"
)

// DeleteMode says what happens to a child that is no longer wanted.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeleteMode string

// The delete modes.
const (
	// DeleteDelete deletes the object.
	DeleteDelete DeleteMode = "Delete"
	// DeleteOrphan leaves the object behind; it has no ownerReference.
	DeleteOrphan DeleteMode = "Orphan"
)

// Ensured is an object that the policy itself needs.
//
// +kubebuilder:validation:XValidation:rule="!(self.id in ['owner', 'object', 'policy', 'access', 'ready', 'true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while']) && !self.id.startsWith('__')",fieldPath=".id",message="this name is Ambit's own, or a reserved word of CEL"
type Ensured struct {
	// id names the object in messages: a CEL identifier, other than those of
	// variables, children and watches.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`
	// template is the object; `${...}` in its strings holds CEL over `policy`.
	// apiVersion and kind are literal. Without a namespace, an object of a kind that
	// has them is made in the namespace of the policy.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Template *runtime.RawExtension `json:"template"`
	// onDelete says what happens to the object when the policy is cleaned up or no
	// longer has it. Default Delete.
	// +optional
	OnDelete DeleteMode `json:"onDelete,omitempty"`
}
