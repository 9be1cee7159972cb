package rbac

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// Everywhere is the namespace of a right in all namespaces, and of a right on
// what has no namespace.
const Everywhere = ""

// Request says what to grant for which policy.
type Request struct {
	// Program is the policy. Required.
	Program *policy.Program
	// Kind says what each kind of the program is. Required.
	Kind func(schema.GroupVersionKind) Kind
	// Own is Ambit itself. It gets all rights, unless the policy names a
	// ServiceAccount: then that gets them, and Own the right to act as it.
	Own Subject
	// OwnNamespace is Ambit's own namespace: the Roles of policies in it are named after their names
	// alone, and those of others after their namespaces as well.
	OwnNamespace string
	// Namespaces are those to work in, each once; Everywhere among them: all. Empty:
	// in none, which leaves what has no namespace, and what is elsewhere.
	Namespaces []string
	// Elsewhere are the namespaces for what only owners say the namespace of, and
	// Searched those in which watches look that look in all. Each once; Everywhere
	// among them: all.
	Elsewhere, Searched []string
	// FindOwners adds the right to find owners in all namespaces: list and watch, and
	// no more.
	FindOwners bool
	// OwnersEverywhere gives the rights on owners and their status cluster-wide, and
	// the others by namespace.
	OwnersEverywhere bool
	// Finalizers also gives `update` on the finalizers of owners: the admission
	// plugin OwnerReferencesPermissionEnforcement asks for it.
	Finalizers bool
	// ByName: of what has no namespace, where the policy fixes the name, only that
	// object may be read, changed and removed, as far as RBAC can say so. It is for an
	// Ambit that asks by name what it may do: one that does not takes such rights for
	// none.
	ByName bool
}

// Grant is what one subject needs in one place.
type Grant struct {
	// Policy is the name of the policy that needs it; empty: it is for Ambit as a
	// whole.
	Policy string
	// Name is that of the Role and the binding: it follows from the policy's name,
	// and no other policy's is the same.
	Name string
	// Subject is who gets it.
	Subject Subject
	// Namespace may be Everywhere.
	Namespace string
	// Rules are in the order of policy.Program.Requirements, one for each resource,
	// subresource and name; what is handed out stands with who hands it out.
	Rules []Rule
}

// NeededGrants returns the least that the policy needs, by place: Everywhere first,
// then the namespaces in the order of the request, then others that the policy names,
// then the right to act as the policy's ServiceAccount. Grants without rules are left
// out, and so is in a namespace what is granted Everywhere. The remarks are sentences
// without a full stop: what somebody has to know of these rights, and what is needed
// and not in them.
func NeededGrants(ctx context.Context, r Request) (grants []Grant, remarks []string) {
	required := r.Program.Requirements(r.isNamespaced)
	s := r.searchPlaces(ctx, required)
	firm, all := s.rulesAt(Everywhere), s.rulesAt(Everywhere)
	if r.FindOwners && r.isNamespaced(r.Program.Owner.GVK) {
		owners, _ := FindingGrants(r)
		all = slices.Concat(owners.Rules, all)
	}
	grants = append(grants, r.grantIn(Everywhere, mergeRules(all, nil)))
	for _, place := range s.namedPlaces() {
		grants = append(grants, r.grantIn(place, mergeRules(s.rulesAt(place), firm)))
	}
	grants = append(grants, r.impersonationGrant(required))
	return slices.DeleteFunc(grants, func(g Grant) bool { return len(g.Rules) == 0 }), s.remarks
}

// grantIn is what the policy's subject gets in a namespace.
func (r Request) grantIn(namespace string, rules []Rule) Grant {
	return Grant{Policy: r.shownName(), Name: r.roleName(), Subject: r.actingSubject(), Namespace: namespace, Rules: rules}
}

// roleName is the name of the policy's Roles and bindings.
func (r Request) roleName() string { return "ambit-" + r.shownName() }

// shownName names the policy: in Ambit's own namespace its name alone does. A name with a dot could be
// mistaken for a namespace and a name.
func (r Request) shownName() string {
	if r.Program.Namespace == r.OwnNamespace && !strings.Contains(r.Program.Name, ".") {
		return r.Program.Name
	}
	return r.Program.Label
}

// actingSubject is who the policy acts as.
func (r Request) actingSubject() Subject {
	if r.Program.ServiceAccount == "" {
		return r.Own
	}
	return Subject{Namespace: r.Program.Namespace, Name: r.Program.ServiceAccount}
}

// isNamespaced says whether objects of a kind are in namespaces.
func (r Request) isNamespaced(gvk schema.GroupVersionKind) bool { return r.Kind(gvk).Namespaced }

// LimitNamespaces returns those that a policy works in, sorted, given that the process
// is limited to some (empty: to none): nothing if the policy's scope and limit
// have none in common. limited is false if neither names any, or the policy's scope has
// more than it names: the policy then works in all but those that it excludes. Where
// labels decide, each namespace of the limit may be one.
func LimitNamespaces(program *policy.Program, limit []string) (namespaces []string, limited bool) {
	scope := program.Namespaces
	if program.NamespaceSelector != nil {
		scope = nil
	}
	if len(scope) == 0 && len(limit) == 0 {
		return nil, false
	}
	namespaces = slices.Clone(scope)
	switch {
	case len(namespaces) == 0:
		namespaces = slices.Clone(limit)
	case len(limit) > 0:
		namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return !slices.Contains(limit, n) })
	}
	namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return slices.Contains(program.Exclude, n) })
	slices.Sort(namespaces)
	return slices.Compact(namespaces), true
}

// FindingGrants returns the two ways to find the owners of a policy that no namespace
// limits; one of them is enough. owners is to list and watch owners in all
// namespaces, namespaces to list and watch these, so that owners can be looked
// for in each. Of the request only Program, Kind and Own count.
func FindingGrants(r Request) (owners, namespaces Grant) {
	verbs := []string{"list", "watch"}
	owner := r.Kind(r.Program.Owner.GVK).Resource
	rule := Rule{Group: owner.Group, Resource: owner.Resource, Verbs: verbs, Parts: []string{policy.OwnerPart}}
	return r.grantIn(Everywhere, []Rule{rule}), r.grantIn(Everywhere, []Rule{{Resource: "namespaces", Verbs: verbs, Parts: rule.Parts}})
}

// WatchingGrant returns the right to list and watch the objects of RBAC in all
// namespaces, with which Ambit follows changes of rights at once. It belongs to no
// policy, and is the same for all: its name has a colon where theirs have a dash.
func WatchingGrant(own Subject) Grant {
	g := Grant{Name: "ambit:watch-rbac", Subject: own, Namespace: Everywhere}
	for _, resource := range []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		g.Rules = append(g.Rules, Rule{Group: "rbac.authorization.k8s.io", Resource: resource, Verbs: []string{"list", "watch"}})
	}
	return g
}
