// Package inventory is the annotation ambit.dev/children of an owner: what it says of the
// objects that the policy has made or merged into for that owner, and what it proves.
//
// The package is pure: no I/O, no goroutine, no clock, no log. It knows nothing of plans: which
// entries an owner should have is package plan's decision.
//
// # What it says
//
// An Inventory has an Entry for each object that no ownerReference leads to, and for each place
// in which objects with an ownerReference may be outside the owner's namespace. Its text is
// compact and canonical: equal inventories have equal texts (Inventory.String, ParseInventory). What
// String cannot have written is an error, and nothing may be concluded from it; nor from an
// inventory that the policy, or an earlier revision of it, cannot have written (Read).
//
// An inventory names its policy. While it is another policy's, that policy alone may change it
// and the finalizer beside it.
//
// # What it proves
//
// Whoever writes the owner can write the annotation, too. So an entry alone proves nothing: it
// says where to look. An object is the owner's if Inventory.ProveOwnership says so, which takes all of
//
//   - an entry with the kind, namespace and name of the object, and its uid or none yet;
//   - the annotation ambit.dev/claim on the object, with the ownership token of the entry: a hash
//     over the inventory's secret, the owner's uid, the object's name, the child, and whether the
//     object is left behind when it is no longer wanted;
//   - the object's managedFields, which say that the policy's own field manager wrote that
//     annotation, and that no manager of merged fields did;
//   - no controller but the owner.
//
// The owner's uid is not in the text. Inventory.Owner has to be set from the owner itself, or
// the inventory proves nothing.
//
// # Limits
//
// An inventory has at most MaxBytes bytes and MaxEntries entries, and at most maxOtherKinds
// kinds that its policy does not have.
package inventory
