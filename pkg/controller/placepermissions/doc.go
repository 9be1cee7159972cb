// Package placepermissions keeps what one policy may do, place by place: a place is a namespace, or all
// of them. It has reviews asked for (package access), and says when an answer changes.
//
// # What it promises
//
//   - About a place no more is asked than somebody needs there: the owners that are in it or are looked
//     for in it (Scope), and the owners elsewhere that make use of it (SetUses).
//   - What may be done in a place is the same pointer, a permissionset.Set, until it changes.
//   - Where everything is permitted in all namespaces, nothing is asked about single ones.
//   - Whoever takes over from an earlier revision of the policy (InheritFrom) takes what that knew for the
//     answer until there is one, so that nothing is said or done twice.
//
// # What it refuses to know
//
// Owners, streams, and what a missing permission means to them: Options.Changed says so, and the
// controller acts.
//
// # Locks
//
// A Tracker is safe for concurrent use. Options.Changed is called under no lock. Each other function of
// Options may be called while what is asked about a place changes, under a lock of the Tracker's: it must
// call no method of the Tracker's, and nobody may call one under a lock that such a function takes. The
// methods of Uses call nobody, and may be called anywhere.
package placepermissions
