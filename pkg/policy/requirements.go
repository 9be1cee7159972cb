package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// The parts of a policy that need something without having an id: the owner, the labels
// that select namespaces, and the account. No child or watch has the id of OwnerPart.
const (
	OwnerPart             = "owner"
	NamespaceSelectorPart = "namespaceSelector"
	ServiceAccountPart    = "serviceAccountName"
)

// Requirement is what one part of a policy has to be allowed to do with one kind, for
// one purpose.
type Requirement struct {
	// Part is OwnerPart, NamespaceSelectorPart, ServiceAccountPart, or the id of a child,
	// a watch or an ensured object.
	Part    string
	Purpose Purpose
	GVK     schema.GroupVersionKind
	// Subresource is `status`, `finalizers` or empty.
	Subresource string
	// Name is that of the only object; empty: any.
	Name string
	// Verbs are in the order of v1alpha1.CompareVerbs, each once.
	Verbs []string
	// Scope says in which namespaces; a kind without namespaces is needed cluster-wide
	// whatever it says.
	Scope Scope
	// Child is the child or the ensured object that the part is, and Watch the watch: their
	// templates say names and namespaces. Nil for other parts.
	Child *Child
	Watch *Watch
}

// Purpose is why something is required.
type Purpose string

// The purposes. BlockDeletion is required only where the admission plugin
// OwnerReferencesPermissionEnforcement runs. Impersonate is required of Ambit itself, and
// all others of the identity that the policy acts as.
const (
	PurposeFindOwners       Purpose = "FindOwners"       // to see owners
	PurposeMarkOwners       Purpose = "MarkOwners"       // to write the finalizer and the inventory on owners
	PurposeReportStatus     Purpose = "ReportStatus"     // to write the status of owners
	PurposeExpireOwners     Purpose = "ExpireOwners"     // to delete owners whose time is over
	PurposeBlockDeletion    Purpose = "BlockDeletion"    // to make children whose ownerReference blocks the owner's deletion
	PurposeManageChild      Purpose = "ManageChild"      // to make, correct and remove a child
	PurposeWatch            Purpose = "Watch"            // to see what a watch selects
	PurposeEnsure           Purpose = "Ensure"           // to make, correct and remove what the policy itself has
	PurposeSelectNamespaces Purpose = "SelectNamespaces" // to see which namespaces have the labels of the scope
	PurposeImpersonate      Purpose = "Impersonate"      // to act as the policy's ServiceAccount, and to see that it exists
)

// Scope is the rule for the namespaces that something is required in.
type Scope string

// The scopes.
const (
	ScopeOwner    Scope = "Owner"    // each namespace that the policy works in: that of the owner
	ScopeTemplate Scope = "Template" // the one that the part's template says; an owner may decide
	ScopeAll      Scope = "All"      // each that may be watched
	ScopePolicy   Scope = "Policy"   // that of the policy; if it has none, the one that is ensured in is not known
	ScopeCluster  Scope = "Cluster"  // all, or what has no namespace
)

// Requirements returns all that the policy has to be allowed, part by part: the owner
// first, then children, watches and what is ensured in the program's order, then labels of
// namespaces and the account. Each verb counts, whether this or that owner makes use of
// it today: a child may have to be made again (create), corrected (patch), looked at
// where one of its name exists (get), and removed (delete). namespaced is as for
// NeedsFinalizerFor and may be nil. The result belongs to the caller.
func (p *Program) Requirements(namespaced func(schema.GroupVersionKind) bool) []Requirement {
	list := p.ownerRequirements(namespaced)
	for _, child := range p.Children {
		scope := ScopeOwner
		if child.CrossNamespace {
			scope = ScopeTemplate
		}
		list = append(list, Requirement{Part: child.ID, Purpose: PurposeManageChild, GVK: child.GVK, Verbs: child.requiredVerbs(), Scope: scope, Child: child})
	}
	for _, w := range p.Watches {
		verbs := []string{"list", "watch"}
		if p.isIssuer(w.ID) {
			verbs = []string{"get", "list", "watch"} // its key is read for the moment of a write
		}
		list = append(list, Requirement{Part: w.ID, Purpose: PurposeWatch, GVK: w.GVK, Verbs: verbs, Scope: w.requiredScope(), Watch: w})
	}
	for _, child := range p.Ensured {
		scope := ScopePolicy
		if child.CrossNamespace {
			scope = ScopeTemplate
		}
		list = append(list, Requirement{Part: child.ID, Purpose: PurposeEnsure, GVK: child.GVK, Verbs: child.requiredVerbs(), Scope: scope, Child: child})
	}
	if p.NamespaceSelector != nil {
		list = append(list, Requirement{
			Part: NamespaceSelectorPart, Purpose: PurposeSelectNamespaces, Scope: ScopeCluster,
			GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Verbs: []string{"list", "watch"},
		})
	}
	if p.ServiceAccount != "" {
		list = append(list, Requirement{
			Part: ServiceAccountPart, Purpose: PurposeImpersonate, Scope: ScopePolicy, Name: p.ServiceAccount,
			GVK: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Verbs: []string{"list", "watch", "impersonate"},
		})
	}
	return list
}

// ownerRequirements are those of the owner.
func (p *Program) ownerRequirements(namespaced func(schema.GroupVersionKind) bool) []Requirement {
	owner := func(purpose Purpose, subresource string, verbs ...string) Requirement {
		return Requirement{Part: OwnerPart, Purpose: purpose, GVK: p.Owner.GVK, Subresource: subresource, Verbs: verbs, Scope: ScopeOwner}
	}
	list := []Requirement{owner(PurposeFindOwners, "", "list", "watch")}
	if p.NeedsFinalizerFor(namespaced) {
		list = append(list, owner(PurposeMarkOwners, "", "patch"))
	}
	if !p.Owner.SkipStatus {
		list = append(list, owner(PurposeReportStatus, "status", "patch"))
	}
	if p.Expire != nil {
		list = append(list, owner(PurposeExpireOwners, "", "delete"))
	}
	return append(list, owner(PurposeBlockDeletion, "finalizers", "update"))
}

// requiredVerbs returns what may have to be done with the objects of a child.
func (child *Child) requiredVerbs() []string {
	if child.Existing == v1alpha1.ExistingMerge {
		return []string{"get", "list", "watch", "patch"}
	}
	replaced := child.Apply == v1alpha1.ApplyCreate || child.Apply == v1alpha1.ApplyRecreate
	return slices.DeleteFunc(v1alpha1.Verbs(), func(verb string) bool {
		return verb == "patch" && replaced && child.Existing != v1alpha1.ExistingAdopt ||
			verb == "delete" && child.OnDelete == v1alpha1.DeleteOrphan && child.Apply != v1alpha1.ApplyRecreate
	})
}

// isIssuer reports whether a child or a watch has the CA of a certificate that is made.
func (p *Program) isIssuer(id string) bool {
	return slices.ContainsFunc(p.Children, func(child *Child) bool {
		return slices.ContainsFunc(child.Make, func(m *Made) bool { return m.Issuer == id })
	})
}

func (w *Watch) requiredScope() Scope {
	switch {
	case w.Namespace != nil:
		return ScopeTemplate
	case w.AllNamespaces:
		return ScopeAll
	}
	return ScopeOwner
}

// NeedsFinalizer says whether the policy may have to write on the metadata of its owners:
// the finalizer, and the record of children that no ownerReference ties to them.
// What only a cluster knows is not counted: see NeedsFinalizerFor. Owners that stop matching
// must then still be seen, so that they can be cleaned up.
func (p *Program) NeedsFinalizer() bool { return p.NeedsFinalizerFor(nil) }

// NeedsFinalizerFor is NeedsFinalizer where it is known which kinds have namespaces: a cluster-scoped
// child of a namespaced owner is recorded as well. Of an owner without a namespace
// it is recorded in which namespaces its children are. namespaced may be nil.
func (p *Program) NeedsFinalizerFor(namespaced func(schema.GroupVersionKind) bool) bool {
	if p.Protect != nil || p.Deletion == v1alpha1.DeletionOrdered || p.CleanupOnly != nil {
		return true
	}
	ownerIn := namespaced == nil || namespaced(p.Owner.GVK)
	for _, child := range p.Children {
		if child.OnDelete == v1alpha1.DeleteOrphan || child.Existing == v1alpha1.ExistingMerge {
			return true
		}
		if child.CrossNamespace || ownerIn && namespaced != nil && !namespaced(child.GVK) {
			return true
		}
	}
	return false
}
