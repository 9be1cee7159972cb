// Package ssadiff compares a desired object with a live one as a server-side apply would: it
// returns what an apply of the desired object would change, without a request and without a
// schema.
//
// The managedFields entries of the applying manager on the live object stand in for the
// schema. The API server wrote them when it merged that manager's last write, so they say how
// it matches the items of a list, and which fields the manager owns.
//
// The package is pure: no I/O, no goroutine, no clock, no log. It changes none of its
// arguments, and its results are the same for the same objects. Malformed managedFields are
// taken for absent; nothing panics.
//
// # The same as the API server
//
//   - A field that the manager owns and that desired does not have is removed.
//   - Fields that only others own are left alone, and are no difference.
//   - Items of a list that the entry names by key (`k:`) are matched by that key; elements of
//     a set (`v:`) by their value; a list that the entry has as one leaf is compared as a whole.
//   - Null is the same as no field.
//   - metadata.managedFields, uid, resourceVersion and the like are not the writer's to set,
//     and the status is not part of the main resource.
//   - After a create by POST the manager has an entry of operation Update. An apply does not
//     remove the fields of that one: it has to become an Apply entry first. Compare says so.
//
// # Not the same
//
//   - Defaults are not known. The Update entry also owns what the API server has set by default
//     on create. A field of that entry alone is removed only where the API server sets no
//     defaults (labels, annotations, data, ...) or where FieldSetHash shows that the desired
//     object had other fields before.
//   - Conversion is not known. An entry for another version of the kind is a difference, so that
//     the object is written again in the version that desired has.
//   - Whether a leaf of an entry is a map that is taken as one, or a map all of whose keys others
//     have taken over, is known of labels, annotations and the data of ConfigMaps and Secrets.
//     Other maps are taken for the first: what others changed there is a difference, but no drift.
//   - Quantities are equal by value only below limits, requests, hard and capacity; elsewhere a
//     text is compared as a text.
//   - An empty map or list is the same as no field.
//   - A map or a list that the manager has lost to another one is a difference although its
//     values are equal: values do not show what was added to an atomic one.
//   - Conflicts are not reported: every write is assumed to be forced.
package ssadiff
