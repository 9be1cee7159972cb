// Package plan says what has to be done for one owner: from a compiled policy
// and a snapshot of what is in the cluster it makes the actions on children, each
// with its reason, what the owner's metadata has to say, and what its status
// should say.
//
// Make names the stages (make.go). The planner resolves watches and children, each child with its
// instances (child.go, instance.go: rendered in desired.go, compared in match.go). The queryPlanner
// finds what is to be observed, the inventoryPlanner what the owner's metadata has to say, the
// pruner what is to be removed, and the reporter what is said of it all (with package ownerstatus). Each calls
// those before it, and none after; what they share is the subject, which knows the snapshot and nothing of the
// plan.
//
// It is pure: no I/O, no goroutine, no clock, no log. The same inputs give the
// same plan, byte for byte, whatever the order of the observed objects. Package
// controller carries plans out; `ambit render` prints them. Failures are part of the
// plan: Make itself cannot fail.
//
// # The loop
//
// Queries says what has to be observed before the first plan: the controller asks it, and
// package simulate for files, so that they cannot disagree. Where other children are is only
// known once they are rendered. So a plan says in Plan.Queries which places it knows of, and
// whoever makes snapshots observes them and plans again, until nothing else is wanted. A place
// that is not in the snapshot counts as not observed yet: nothing is concluded from it. Then
// Plan.OwnerMetadata is carried out, then the actions, and it is planned again. Planning after
// a successful apply is empty.
//
// # What is ours
//
// Labels prove nothing. An observed object is the owner's child if
//
//   - the uid in its controller ownerReference is the owner's; or
//   - the owner's inventory proves it, by an ownership token on the object that the policy's own
//     field manager wrote (package inventory).
//
// Whoever writes the owner can read and change all that an ownership token is made of but one
// thing: what Ambit writes as the policy's manager. There no expression gives a key of
// ambit.dev (desired.DropReserved), so a token for this owner was made for this owner. A token that
// says that the object is left behind is believed whatever the inventory says. When onDelete is
// edited the token in the desired object changes, and the object is written again. When the
// child gets another id the token stays, and the inventory says which id it names.
//
// The first is the rule, where Kubernetes allows it: for a cluster-scoped owner, or
// in the owner's namespace. The second is for children in another namespace or
// without one, and for those with onDelete Orphan, which garbage collection must
// not take. An object that is not ours is never in an action but Merge and Release,
// and Create with Adopt; where a child wants its name, the child is blocked with the
// reason NameConflict.
//
// An object that is merged into stays its maker's. Ours are the fields of the
// manager v1alpha1.MergeManager, which Release takes back. Ensured objects belong to
// the policy: the annotation ambit.dev/ensured-by, written by the policy's manager, proves
// it, as long as they have no controller.
//
// # The inventory
//
// The inventory is the owner's annotation ambit.dev/children (package inventory). An entry is
// written before its object is made or merged into (Plan.OwnerMetadata), and goes when the
// object is not seen any more, or is left behind. What may still be wanted, and is merged into
// or to be left behind, stays in it, seen or not. As an object without our labels is not seen
// either, whoever writes the metadata first reads what it drops, or gives a uid (OwnerMetadata.DoubtfulEntries). An entry
// holds no uid as long as the object is about to be made: a crash between the two writes leaves
// an object that the token proves to be ours. Where objects with an ownerReference may be in any
// namespace, the inventory holds the places, so that leftovers are found there. An inventory
// that Ambit cannot have written stops all that needs one: nothing is looked for, nothing is
// deleted, and the finalizer stays. What this program would not have written may be of an
// earlier revision: inventory.MaxOtherSites such places are wanted at a time, and the other entries wait
// for theirs.
//
// While the inventory is another policy's, a plan does nothing for the owner but to say so: when
// owners go from one policy to another, the second begins when the first has cleaned up.
// Retiring such an owner still removes what has an ownerReference and our labels.
//
// The finalizer ambit.dev/cleanup stands on an owner as long as the inventory has
// an entry that is not to be left behind, or if the policy has protect or an order
// of deletion. Beside it there is always an inventory, if need be without entries.
//
// # What is different
//
// Package ssadiff compares the desired object with the live one, as a server-side apply of the
// policy's field manager would. What others set beside is no difference.
//
// With apply Create nothing is compared, and what is adopted is only tied to its owner
// (Action.AsItIs). With apply Recreate an object is deleted
// if its template gives another object than it was made from, which a hash on the
// object tells, or if somebody else has changed or removed a field of the template: the
// value differs, and our entries do not have the field any more. What the API server or
// admission made of our own write is ours still, and no reason: the object would be made
// anew for ever. A field that admission takes away at once is not ours either; it is known
// by Snapshot.ServerNormalized, from the answer to the create.
//
// # Order
//
// A child is rendered when all children that it reads exist and are ready, of a
// forEach all of its objects, so the actions of one plan do not depend on each
// other's results. With update OneByOne an object is made or changed when all before
// it are as wanted and ready.
//
// Objects that no child wants any more are deleted, each after the unwanted objects
// of children that depend on it, but only when it is certain that none wants them:
// not while an expression fails, an input is blocked, or a child still waits. The
// condition Ready then says that pruning is suspended, and why. Objects that have
// an ownerReference are found where the program has children of their kind; those
// of a kind that the program no longer has, or has only elsewhere, go with the
// owner.
//
// # Owners that go
//
// Of an owner that is deleted what only Ambit can remove is removed: what the
// inventory has, and with the order Ordered all children, each rank after those
// above it. That needs no expression but protect, so that it works for a policy that
// does not compile. Of an owner that the policy does not want any more (Retire) all
// is removed. What cannot be seen keeps the finalizer, and the plan says so; a kind
// that is served in no version has no objects.
//
// # Limits
//
// MaxElements, MaxObjects, MaxObjectBytes and MaxBytes bound what one owner may
// have; what goes beyond is blocked with the reason LimitExceeded.
package plan
