package policy

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Program is a compiled policy. It is immutable and safe for concurrent use; all
// that it refers to is shared and must not be changed.
type Program struct {
	// Name is the name of the policy: a DNS-1123 subdomain of at most 63 characters. Namespace may
	// be empty.
	Name, Namespace string
	// Label is the namespace and name in one word: see v1alpha1.PolicyLabel.
	Label string
	// File is where the policy came from, for messages.
	File string
	// Hash is the hex SHA-256 over everything that can change what the program
	// does: comments, layout and the file's name do not count. What Functions compute is
	// not known: in one process a name is for one of them.
	Hash string
	// ServiceAccount is the name of the ServiceAccount that the policy acts as; it
	// lives in Namespace, which is not empty then. Empty: Ambit itself.
	ServiceAccount string
	// Suspend: no work is done for any owner.
	Suspend bool
	// Retire: the policy is to be cleaned up after, not run. It is for whoever runs
	// programs to obey that.
	Retire bool
	// Namespaces are the only ones to look at, empty for all unless there is a
	// NamespaceSelector; Exclude are left out in any case. Sorted, without duplicates.
	Namespaces, Exclude []string
	// NamespaceSelector selects more namespaces to look at; nil for none.
	NamespaceSelector labels.Selector
	// Informers says how watches are laid out; never empty.
	Informers v1alpha1.InformerMode
	// Owner is the kind that the policy serves.
	Owner Owner
	// Variables are in the order of the policy: each reads only those before it.
	Variables []Variable
	// Children are ordered: each comes after all that it depends on.
	Children []*Child
	// Watches are in the order of the policy.
	Watches []*Watch
	// Status is the template of the owner's status; nil for none. It never sets
	// conditions.
	Status *cel.Template
	// Conditions are in the order of the policy.
	Conditions []Condition
	// RequeueAfter gives a duration; nil for never.
	RequeueAfter *cel.Expr
	// Protect holds back the deletion of owners; nil for never.
	Protect *Protect
	// Expire gives a bool: whether the owner is to be deleted; nil for never.
	Expire *cel.Expr
	// AsksTime: an expression asks the time, so that a plan needs plan.Snapshot.Now.
	AsksTime bool
	// Deletion says in which order the children of a deleted owner go; never empty.
	Deletion v1alpha1.DeletionOrder
	// Ensured are the objects of the policy itself, in its order; only ID, GVK,
	// Template, Elsewhere, OnDelete and Fields are set.
	Ensured []*Child
	// CleanupOnly is what Salvage says of a policy that does not compile: the program can
	// do nothing but clean up after owners that are deleted. It then has no
	// expressions, and Children is empty; Protect, if the policy has it, always holds.
	// Nil for a program of Compile.
	CleanupOnly error

	places map[string]string
}

// Protect holds back the deletion of owners.
type Protect struct {
	// While gives a bool. Message gives a string and may be nil.
	While, Message *cel.Expr
}

// Owner is the kind that a policy serves, and which of its objects.
type Owner struct {
	GVK schema.GroupVersionKind
	// LabelSelector and FieldSelector are for the API server: the selector of the
	// policy and those terms of the filter that say the same. Empty: all.
	// They are empty where Marks says that owners may have to be cleaned up after: one
	// that stops matching must still be seen then.
	LabelSelector, FieldSelector string
	// Selector is what labels say of the owner, for local checks; never nil. It never
	// selects fewer objects than selector and filter of the policy together.
	Selector labels.Selector
	// Filter is over `object` and decides alone, whatever the selectors say; nil
	// for all.
	Filter *cel.Expr
	// Fields are those that the program reads of an owner, and its status unless Silent.
	Fields *fields.Set
	// StatusRead are the fields of the status that the program reads; nil for none. Ambit's own
	// writes change them.
	StatusRead *fields.Set
	// SelectionRead are the fields that say, beside its identity, which objects the watches show
	// it; nil for none.
	SelectionRead *fields.Set
	// Versionless: something reads all of the owner's metadata, and sees it as See returns it:
	// without what changes by Ambit's own writes.
	Versionless bool
	// SkipStatus: nothing is written to the owner's status. It is so for kinds of
	// Kubernetes itself, whose status belongs to others, unless the policy has a
	// status or conditions.
	SkipStatus bool
}

// Variable is a named value, computed for each owner.
type Variable struct {
	Name string
	// Expr reads `owner`, `policy`, watches and variables before this one.
	Expr *cel.Expr
	// Watches are the ids that Expr reads, itself or through other variables: with any,
	// the value is known only after these are read. Sorted.
	Watches []string
	// Timed: Expr asks the time, itself or through other variables.
	Timed bool
}

// Child is an object that the policy makes for each owner.
type Child struct {
	// ID names the live object in expressions.
	ID  string
	GVK schema.GroupVersionKind
	// When gives a bool: whether the child is wanted; nil for always.
	When *cel.Expr
	// Template is the desired object; apiVersion and kind in it are literal.
	Template *cel.Template
	// Make are the recipes of values that the child's Secret is to have beside those of Template; nil for none.
	Make []*Made
	// ReadyWhen give bools: the child is ready when all are true; none: when its status says so.
	ReadyWhen []*cel.Expr
	// ForEach makes one object for each element; nil: there is one.
	ForEach *ForEach
	// CrossNamespace: the template sets metadata.namespace to other than
	// `${owner.metadata.namespace}`, so that the object may be outside of the owner's
	// namespace.
	CrossNamespace bool
	// MayOwn: it is not certain that the child's objects are no owners of the policy: they
	// are of the owner's kind, and its selector may select them.
	MayOwn bool
	// Apply, Existing, OnDelete and Update are never empty. With Existing Merge, Apply
	// is Apply.
	Apply    v1alpha1.ApplyMode
	Existing v1alpha1.ExistingMode
	OnDelete v1alpha1.DeleteMode
	Update   v1alpha1.UpdateMode
	// Keep is how many objects stay whose element is gone.
	Keep int
	// KeepWhen gives a bool: whether an object stays whose element is gone, which it sees as `object`.
	// It decides on no object that is wanted, so what it reads does not come before the child. Nil: Keep says it.
	KeepWhen *cel.Expr
	// Children and Watches are the ids that When, ForEach and Template read, Watches
	// also through variables, and Children also those of dependsOn. Sorted. Asked are the children that these
	// expressions only ask `ready(...)` of: they come before this one, but it does not
	// wait for them; none is in Children.
	Children, Watches, Asked []string
	// Fields are those that the template sets or an expression reads.
	Fields *fields.Set
	// Versionless is as that of Owner, for the objects of the child.
	Versionless bool
}

// NamesChild reports whether objects of the child carry its id: where something may be decided by it
// when the policy has the child no longer, or the object's element is gone.
func (p *Program) NamesChild(child *Child) bool {
	return child.KeepsObjects() || p.Deletion == v1alpha1.DeletionOrdered
}

// KeepsObjects reports whether objects of the child may stay when their element is gone.
func (child *Child) KeepsObjects() bool { return child.Keep > 0 || child.KeepWhen != nil }

// FindChild returns the child of an id; nil if there is none.
func FindChild(children []*Child, id string) *Child {
	for _, c := range children {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// ForEach makes one object for each element of a list.
type ForEach struct {
	// As is the variable that holds the element, in the child's Template and
	// ReadyWhen.
	As string
	// In gives a list.
	In *cel.Expr
}

// Watch is a set of objects that the policy reads and does not own.
type Watch struct {
	// ID names the list of objects in expressions.
	ID  string
	GVK schema.GroupVersionKind
	// Name selects the object of that name; nil for all. Namespace is where the objects
	// are; nil for the owner's, or all if the owner has none. Both read `owner`,
	// `policy` and variables without Watches and must render to strings.
	Name, Namespace *cel.Template
	// AllNamespaces: the objects are looked for wherever they may be listed and
	// watched. Namespace is nil then.
	AllNamespaces bool
	// FieldTemplate selects by fields: a template of the text of a field selector; nil for all.
	// What it selects only the API server can say, so FieldSelector, which may be
	// checked locally, does not hold it.
	FieldTemplate *cel.Template
	// Selector is by label; its zero value selects all.
	Selector Selector
	// FieldSelector is for the API server: the terms of Filter that the kind has a
	// field label for. It never selects fewer objects than Filter. Empty: all.
	FieldSelector string
	// Filter is over `object` and `owner`; nil for all.
	Filter *cel.Expr
	// Fields are those that an expression reads.
	Fields *fields.Set
	// Versions: the resourceVersion is among them, so that every change of an object counts.
	Versions bool
}

// Condition is a condition on the owner.
type Condition struct {
	Type string
	// Status gives a bool or one of 'True', 'False', 'Unknown'. Reason and Message
	// give strings and may be nil.
	Status, Reason, Message *cel.Expr
}

// Place returns `file:line` of a part of the policy, for messages at run time.
// The part is named by its place below spec, with ids, names and types in
// place of list positions: `owner.filter`, `variables.labels`,
// `children.web.when`, `children.web.template.spec.replicas`,
// `children.web.forEach.in`, `children.web.readyWhen[0]`, `children.web.keepWhen`, `watches.pods.filter`,
// `watches.pods.namespace`, `status.nodes`, `conditions.Available.status`, `protect.while`,
// `ensure.role.template.rules`, `requeueAfter`, `expire`. Of a part that is not known the
// nearest known part above it is returned, as of a literal in a template; at last the
// policy itself.
func (p *Program) Place(what string) string {
	for what != "" {
		if place, ok := p.places[what]; ok {
			return place
		}
		what = what[:max(strings.LastIndexAny(what, ".["), 0)]
	}
	return p.places[""]
}

// FollowsVersions reports whether the program reads the resourceVersion of watched objects: then
// what it wants may follow from what it has written.
func (p *Program) FollowsVersions() bool {
	return slices.ContainsFunc(p.Watches, func(w *Watch) bool { return w.Versions })
}

// HidesVersions reports whether something reads all metadata of the owner or of a child, and so
// sees it without the resourceVersion.
func (p *Program) HidesVersions() bool {
	return p.Owner.Versionless || slices.ContainsFunc(p.Children, func(child *Child) bool { return child.Versionless })
}

// See returns what expressions see of an owner, which is not changed.
func (o *Owner) See(owner map[string]any) map[string]any { return withoutVersion(owner, o.Versionless) }

// See returns what expressions see of an object of the child, which is not changed.
func (child *Child) See(object map[string]any) map[string]any {
	return withoutVersion(object, child.Versionless)
}

// withoutVersion leaves out of an object's metadata, where that is read as a whole, what changes by Ambit's
// own writes.
func withoutVersion(object map[string]any, versionless bool) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !versionless || !ok {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	delete(metadata, versionField)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}

// defaultAccount is the ServiceAccount of a Pod that names none.
const defaultAccount = "default"

// InCluster returns the program as it runs when the policy stands in the cluster, in a
// ConfigMap or as a custom resource, and own is the namespace of the Ambit that runs it.
// The receiver stays as it is, and is what is returned for a policy without namespace.
//
// A policy in Ambit's own namespace acts as Ambit unless it names a ServiceAccount. One in
// any other namespace acts as a ServiceAccount of that namespace, always: whoever
// writes it there gets no right that they could not take by running a Pod. And it serves
// owners of that namespace unless it says a scope: the policies of two teams for one kind
// are not in each other's way.
//
// This is the only place that decides so. It is not for a policy from a file, which acts
// as Ambit wherever its metadata.namespace says.
func (p *Program) InCluster(own string) *Program {
	if p.Namespace == "" || p.Namespace == own {
		return p
	}
	as := *p
	if as.ServiceAccount == "" {
		as.ServiceAccount = defaultAccount
	}
	if !p.HasScope() {
		as.Namespaces = []string{p.Namespace}
		as.Hash += " in " + p.Namespace // the same text elsewhere is another program
	}
	return &as
}

// HasScope says whether the program says where its owners are. An empty scope says nothing.
func (p *Program) HasScope() bool {
	return len(p.Namespaces) > 0 || len(p.Exclude) > 0 || p.NamespaceSelector != nil
}

// ExcludesNamespace reports whether the scope leaves a namespace out, whatever else it says.
func (p *Program) ExcludesNamespace(namespace string) bool {
	return slices.Contains(p.Exclude, namespace)
}

// MayHaveNamespace reports whether the scope can have a namespace, as far as the names in it say.
func (p *Program) MayHaveNamespace(namespace string) bool {
	open := len(p.Namespaces) == 0 || p.NamespaceSelector != nil
	return !p.ExcludesNamespace(namespace) && (open || slices.Contains(p.Namespaces, namespace))
}

// Identity returns the user name of the ServiceAccount that the policy acts as,
// or empty for Ambit itself.
func (p *Program) Identity() string {
	if p.ServiceAccount == "" {
		return ""
	}
	return "system:serviceaccount:" + p.Namespace + ":" + p.ServiceAccount
}
