package access

import "time"

// Access is one thing to be allowed. It is comparable.
type Access struct {
	// Verb is as in RBAC: get, list, watch, create, patch, delete, impersonate, ...
	Verb string
	// Group is empty for the core group. Resource is the plural.
	Group, Resource string
	// Subresource is empty for the object itself.
	Subresource string
	// Name is empty for any name.
	Name string
}

// VerbsOf returns the verbs of accesses, in their order. The result is the caller's.
func VerbsOf(list []Access) []string {
	verbs := make([]string, len(list))
	for i, a := range list {
		verbs[i] = a.Verb
	}
	return verbs
}

// Key is where somebody acts.
type Key struct {
	// Identity is empty for Ambit's own account; otherwise a user name that Ambit
	// impersonates, such as "system:serviceaccount:ns:name".
	Identity string
	// Namespace is empty for all namespaces, and for what is cluster-scoped.
	Namespace string
}

// Payer is on whose account requests about a key are sent. Where there is more to ask
// than may be sent, requests take turns: first between the groups, then between the tenants
// of a group, then between the names of a tenant. It is comparable, and says nothing to this
// package.
type Payer struct {
	// Group is such as a policy.
	Group string
	// Tenant is such as the namespace of an owner: who has many names has one tenant's turns.
	Tenant string
	// Name is such as an owner. Both empty is what the group needs for itself: it goes before
	// the tenants, but for every eighth request.
	Name string
}

// Decision is what is known of an access.
type Decision string

// The decisions. Unknown is the zero value: no answer yet, the identity itself is
// refused, or it depends on a name that the access does not have.
const (
	Unknown Decision = ""
	Allowed Decision = "Allowed"
	Denied  Decision = "Denied"
)

// decisionOf turns an answer into a decision.
func decisionOf(allowed bool) Decision {
	if allowed {
		return Allowed
	}
	return Denied
}

// ChangeHandler is told that State of a key has something new. Its dynamic type
// must be comparable.
type ChangeHandler interface {
	// Changed is called with no lock held, one call at a time, from the goroutine
	// that paces all probes: it must not block. It may call the Reviewer. A call
	// may come late, even after the key was released.
	Changed(Key)
}

// State is what is known of a key.
type State struct {
	// Reviewed: an answer is there. Decide is then not Unknown for kept accesses,
	// save where a name matters, and save while Refusal is set.
	Reviewed bool
	// At is the time of the last answer; zero if there was none.
	At time.Time
	// Generation grows whenever a decision about a kept access, or Refusal,
	// changes. It never repeats, even for a key that was forgotten and kept again.
	Generation uint64
	// Refusal is why the identity itself is refused: the review was answered 401, or
	// 403, such as a refused impersonation. Nil otherwise. While it is set, Decide is
	// Unknown for everything.
	Refusal error
}
