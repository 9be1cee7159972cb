// Package registry decides which policies are run. It is pure: it reads no clock and does no I/O. What the sources
// hold goes in as a manifest.Snapshot, and what is run, cleaned up after and said of each policy comes out as a
// Decision. The files in testdata are stories of snapshots and decisions.
//
// # How two policies are told apart
//
// Two policies that want one namespace and name, or the same owners, cannot both run. Which one does depends on the manifests,
// never on the order in which they were seen:
//
//  1. Files, and objects in Ambit's own namespace, go before those of other namespaces. Then files go before
//     custom resources, and these before ConfigMaps. Of one kind the older object goes first (precedence).
//  2. Owners go first to policies that serve their own namespace only, then to those that reach other
//     namespaces, and last to those that can only clean up.
//
// # The life of a policy
//
//	present ──▶ brieflyMissing ──▶ leaving: it is cleaned up after, then forgotten
//	   │              └──────────▶ stopped: its file is gone, and nobody has said that it was removed
//	   └─── deleted, or spec.retire ──▶ leaving
//
// A manifest that is back before DeletionGrace is over is present again. A version that does not compile leaves the
// last good version running. If there was none, what is legible of it only cleans up. If another policy of the same
// namespace and name is there, it takes over what the one that is leaving has made, and nothing is cleaned up.
package registry
