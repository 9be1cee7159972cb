// Package simulate says what a policy comes to for an owner, where the objects of files are
// all that there is in the cluster: what `ambit render` prints and `ambit test` compares.
//
// It is a reconcile without requests. Files leave out much that an API server and an earlier
// reconcile would have written, such as uids and ownerReferences: that is completed first.
// Then plans are made as the controller makes them, of package plan: the queries of a plan
// are answered from the objects, what it says of the owner's metadata is taken as written,
// and it is made again, until that brings nothing new. Children are not written: the plan is
// the one with which the first write would begin.
//
// The package knows neither files nor flags. The same input gives the same result.
package simulate
