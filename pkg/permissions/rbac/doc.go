// Package rbac says which rights a policy needs, as data, and as the Roles and
// bindings that grant exactly these.
//
// The way from a policy to objects has three steps. NeededGrants turns what the
// program needs into grants: one for each subject and namespace. It knows where that is
// as far as the policy says so itself: a template is evaluated without an owner, and
// what fails then is up to owners. Grant.LackingVerbs leaves of a grant what the answers to
// its Checks do not allow yet. Grant.Objects is a Role and a RoleBinding, or their
// cluster-wide kin.
//
// No rule has a wildcard or one of the verbs escalate and bind; impersonate comes
// only with the name of one ServiceAccount. A policy that makes Roles needs what they
// grant; what of that cannot be said without these is a remark of NeededGrants. No rule of a
// cluster is ever evaluated here: what is granted already, the API server is asked by whoever
// uses this package.
//
// The package is pure. Its types are values: slices in them are shared, and must
// not be changed.
package rbac
