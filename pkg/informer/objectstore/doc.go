// Package objectstore holds what an informer keeps of its objects.
//
// A Store follows what the API server shows (SetObject, RemoveObject, ReplaceAll,
// AdvanceTo) and takes in own writes before their events arrive (ObserveWrite,
// ObserveDeletion): it never goes back to a time before an own write. It says of each
// call what has changed, and finds the objects of a Subset by an index of labels or by
// name.
//
// Objects in a Store never change, they are replaced: whoever got one may keep it and must
// not change it. Nothing here blocks, calls out or takes a lock.
package objectstore
