// Package ownerscope says in which namespaces a policy may have owners: what its document names,
// excludes and selects by labels, within what the process is limited to. It does no I/O and starts no
// goroutine.
//
// What is named is known from the beginning. What a selector selects is known from the first list of
// namespaces on (SetListed); until then a policy has the owners in those that it names beside the
// selector.
//
// It does not know where owners may be watched, which is a matter of rights, nor of owners in no
// namespace: those of a cluster-scoped kind are in every scope, but for Namespaces (SelectsOwners).
package ownerscope
