// Package ownerviews knows where one revision of a policy watches its owners, and which of them it has
// seen.
//
// # The parts
//
//   - A Resolver decides where owners may be watched: in all namespaces together where that is permitted
//     and the scope is not limited, else in each namespace of the scope in which it is permitted.
//     The result is a WatchScope.
//   - Views are the streams of owners that there are now, and what follows from what they show: which
//     namespaces have owners, which owners share streams, and what was looked through already.
//   - A NamespaceList is the list of namespaces, watched while somebody needs it.
//
// # What it promises
//
//   - No owner is lost between two sets of streams: InstallViews lists the owners and takes over the
//     streams in one step, so that an owner that comes before it is in the list, and one that comes after
//     it finds the new streams.
//   - A stream of all namespaces takes over from those of single namespaces when it is synced, not
//     before: until then those that there are stay.
//   - A namespace about which there is no answer yet keeps the stream that it has.
//
// # What it refuses to know
//
// What an owner is to the policy (package owners), and how a stream is opened.
// The package makes no request: what it asks, it asks of the interfaces that it declares.
//
// # Locks
//
// Views has one lock. It is held over no call but View.Read and the function that New is given, and
// so is a leaf but for the locks of the streams. Whoever has to see Views and something else in one
// step takes a lock of his own first, and holds it over InstallViews as well: the streams then stay
// the same while he holds it. That lock must not be taken by the function that New is given.
package ownerviews
