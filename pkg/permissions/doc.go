// Package permissions compares what policies need with what is granted, and says what
// grants the rest.
//
// FindNeeds returns the least grants of policies without a cluster. CompareNeeds asks a cluster:
// it finds the namespaces with owners where no policy names any, and has each need
// reviewed. A Comparison is then read by Entries, as a matrix, or by MissingObjects, as the
// objects that grant what is not granted yet.
//
// The package prints nothing and reads no flag. What its user should know on the way goes
// to a Reporter, in sentences that name the flags of `ambit rbac` and `ambit access`. It
// evaluates no Role: the API server is asked, by package access. Errors are those of
// the cluster. Which grants a policy needs, and how they read as Roles, is what the pure
// package rbac below this one knows.
package permissions
