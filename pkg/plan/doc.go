// Package plan says what has to be done for one owner: from a compiled policy
// and a snapshot of what is in the cluster it makes the actions on children, each
// with its reason, and what the owner's status should say.
//
// It is pure: no I/O, no goroutine, no clock, no log. The same inputs give the
// same plan, byte for byte, whatever the order of the observed objects. Package
// engine carries plans out; `ambit render` prints them.
//
// # What is ours
//
// An observed object is the owner's child iff the uid in its controller
// ownerReference is the owner's. Labels prove nothing. An object that is not ours
// is never in an action; where a child wants its name, the child is blocked with
// the reason NameConflict.
//
// # What is different
//
// There is no schema here. Diff compares the desired object with the live one,
// guided by the managedFields entries of the policy's field manager on the live
// object: they are what the API server itself understood of the desired object,
// so that they say how list items are matched and which fields are ours to
// remove. The comparison is asymmetric: what others set beside is no difference.
//
// # Order
//
// A child is rendered when all children that it reads exist and are ready, so the
// actions of one plan do not depend on each other's results. Objects that no
// child wants any more are deleted, but only when it is certain that none does:
// not while an expression fails, an input is blocked, or a child still waits.
//
// Failures are part of the plan: Make itself cannot fail.
package plan
