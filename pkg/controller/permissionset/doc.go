// Package permissionset has what a policy may do in one place, as a value: what of its needs is denied
// there, and what is said of that. It asks nobody; the controller makes a Set of the answers of package
// access. It does no I/O and reads no clock.
//
// What is missing is either required, and then a problem of every owner there, or optional: it is of
// use to have it, and nobody is told that it is not there. Restrict says what of it one owner requires.
package permissionset
