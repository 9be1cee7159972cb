package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Program is a compiled policy. It is immutable and safe for concurrent use; all
// that it refers to is shared and must not be changed.
type Program struct {
	// Name is the name of the policy: a DNS-1123 subdomain of at most 63 characters, so
	// it is also legal as the value of a label and within a field manager. Namespace may
	// be empty.
	Name, Namespace string
	// File is where the policy came from, for messages.
	File string
	// Hash is the hex SHA-256 over everything that can change what the program
	// does: comments, layout and the file's name do not count.
	Hash string
	// Suspend: no work is done for any owner.
	Suspend bool
	// Namespaces are the only ones to look at, empty for all; Exclude are left out
	// in any case. Sorted, without duplicates.
	Namespaces, Exclude []string
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

	places map[string]string
}

// Owner is the kind that a policy serves, and which of its objects.
type Owner struct {
	GVK schema.GroupVersionKind
	// LabelSelector and FieldSelector are for the API server: the selector of the
	// policy and those terms of the filter that say the same. Empty: all.
	LabelSelector, FieldSelector string
	// Filter is over `object` and decides alone, whatever the selectors say; nil
	// for all.
	Filter *cel.Expr
	// Fields are those that the program reads of an owner, and its status.
	Fields *fields.Set
}

// Variable is a named value, computed for each owner.
type Variable struct {
	Name string
	// Expr reads `owner`, `policy` and variables before this one.
	Expr *cel.Expr
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
	// ReadyWhen give bools: the child is ready when all are true; none: when it exists.
	ReadyWhen []*cel.Expr
	// Children and Watches are the ids that When and Template read, and Children
	// also those of dependsOn. Sorted.
	Children, Watches []string
	// Fields are those that the template sets or an expression reads.
	Fields *fields.Set
}

// Watch is a set of objects that the policy reads and does not own.
type Watch struct {
	// ID names the list of objects in expressions.
	ID  string
	GVK schema.GroupVersionKind
	// Selector is by label; its zero value selects all.
	Selector Selector
	// FieldSelector is for the API server: the terms of Filter that the kind has a
	// field label for. It never selects fewer objects than Filter. Empty: all.
	FieldSelector string
	// Filter is over `object` and `owner`; nil for all.
	Filter *cel.Expr
	// Fields are those that an expression reads.
	Fields *fields.Set
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
// `children.web.readyWhen[0]`, `watches.pods.filter`, `status.nodes`,
// `conditions.Available.status`, `requeueAfter`. Of a part that is not known the
// nearest known part above it is returned; at last the policy itself.
func (p *Program) Place(what string) string {
	for what != "" {
		if place, ok := p.places[what]; ok {
			return place
		}
		what = what[:max(strings.LastIndexAny(what, ".["), 0)]
	}
	return p.places[""]
}
