// Package apply is the only writer of children. It carries out one action of a
// plan at a time and says how it ended.
//
// # Whose object it is
//
// Every write is guarded by the API server itself, so that no stale cache can
// lead to a write on another object than the one that was found to be ours:
//
//  1. Create is a plain POST. If an object of that name is there, the server
//     answers 409; the object is then read. If it is ours (an own write that
//     the cache had not seen yet, or a child that has lost its labels), it is
//     returned and nothing was written. If not, the outcome is the problem
//     NameConflict.
//  2. Apply is a server-side apply that carries metadata.uid. The server
//     refuses it for an object of another uid, and does not make a deleted
//     object anew. Fields are forced, for the object is known to be ours.
//  3. Delete carries the uid and the resourceVersion of the object as it was
//     found to be ours.
//
// What is left is an apply to an object of ours whose ownerReference is taken
// away in the moment between: the apply puts it back.
//
// Fields that the API server does not know are refused, as kubectl does it, and
// not dropped: a misspelt field of a template is a problem, not a silence.
//
// # First change after a POST
//
// A POST leaves a managedFields entry of operation Update. Server-side apply
// changes and adds fields under it, but does not remove a field that the entry
// holds as well. An action that has to remove such a field (Action.Migrate)
// first turns the entry into one of operation Apply, with the resourceVersion
// as a precondition.
//
// The package does not decide what to write, keeps no state, and never retries:
// a refused write is a Problem for the next plan.
package apply
