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
//     object anew. Fields are forced, for the object is known to be ours. Where only single
//     values of fields differ that are ours already, it is a merge patch of these, a strategic one
//     for built-in kinds, which carries the uid too: ssadiff says where that is the same.
//  3. Delete carries the uid of the object, and the resourceVersion with which it
//     was found to be ours unless it is the uid that says so. The object is then read:
//     one that has a finalizer is not gone.
//  4. Create with Adopt takes over what it meets if that is nobody's: it has no
//     owner of any kind, is not on its way out, and no owner of a policy that may live has
//     made it, as claims.Claimant.MayAdopt says. That is one server-side apply with the uid and the resourceVersion
//     of the object as it was read; with AsItIs a merge patch of labels, annotations and
//     ownerReference, with the same, that leaves all else as it is.
//  5. Merge is a server-side apply with the uid and without force, as a manager of
//     its own. What another manager has is a FieldConflict. Release is the same
//     without any field.
//  6. Mark changes one finalizer and one annotation of an owner, with the uid and
//     the resourceVersion. VerifyOwner changes nothing, with the same: whether the owner is still
//     as it was read.
//
// What makes an object ours is the uid in its controller ownerReference, unless neither
// label nor manager says that the policy made it: owners of built-in kinds control what
// their own controllers make. Where there can be none, it is its claim, which binds the
// owner, as long as no label says that it was made for another owner that lives; of what
// the policy ensures, the policy's name on it. Neither of these two holds against a
// controller, nor where managedFields do not say that the policy's own manager wrote it.
//
// NameConflict says whose an object is only where the owner's author may be told: in the
// owner's own namespace.
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
