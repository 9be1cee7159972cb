// Package scopedcache is the cache of an operator written in Go that lives with the permissions it has been
// given, namespace by namespace. It stands in the place of controller-runtime's cache.New, with the same
// interface and the same options, and behaves like it while everything may be read. Where something may not
// be read it says so at once, holds up nobody else, and goes on by itself when the right is granted.
//
//	mgr, err := manager.New(config, manager.Options{
//		NewCache: scopedcache.New(scopedcache.Options{Namespaces: scopedcache.InNamespaces("team-a", "team-b")}),
//	})
//
// # What it promises
//
//   - WaitForCacheSync, GetInformer and HasSynced wait until each stream is synced or was refused. A read of what is
//     denied returns a DeniedError at once, for which apierrors.IsForbidden is true.
//   - Objects are decoded to the types of the scheme, and kept once. A stream that is refused is closed and its
//     objects are dropped, without a Delete for any.
//   - A right that is taken away is noticed while the stream is open, within seconds. One that is granted is
//     found by access reviews, which are sent only while something is denied.
//   - Namespaces come and go while it runs: by name, by label, or by rights (Options.Namespaces). Who needs a
//     stream is told when it is lost and when it is back (Source, Cache.OnChange).
//   - What is read through a handle (Cache.For) is watched as long as the handle is open, and ends with the last one.
//   - In a process that runs Ambit as well, what both read is listed, watched and reviewed once (Options.Reads).
//   - When Start returns, nothing that the cache has started is running.
//
// # What it refuses
//
// cache.Options.NewInformer: informers here are those of package informer; and DefaultNamespaces together with
// Options.Namespaces. New returns errors that name them. A client of NewClient refuses to Update a kind with
// Options.Fields. The cache says nothing of what may be written, and watches no RBAC objects.
//
// # Protocol
//
//  1. A kind exists once somebody needs it: the cache, by an informer or a read, or a handle. Which streams it is to have
//     follows from what is needed, the options, and the namespaces and rights of the moment (kindregistry,
//     streamlayout). There is one for each namespace, or one for all.
//  2. Each stream (streamstore) is the informer.Storage of an informer of package informer, which opens and closes it, tries it
//     again and classifies errors. The stream keeps the objects, tells event handlers, and lets readers wait
//     until there is an answer.
//  3. A stream is opened without asking whether it may be: while all is allowed no review is sent. When the API server has
//     refused it, access.Reviewer is asked; what a review denies is closed until a review allows it. Only with Permitted
//     reviews go first (streamgate). (Package permitted asks first, always, and has objects that are decoded to maps: that is
//     why it is not used here.)
//  4. One goroutine, that of Start, arranges kinds whenever streams, rights or namespaces have changed, and tells of
//     that. Those who call the cache arrange by themselves what they need, so that reads follow at once.
//
// # Locks
//
// That of the registry is taken first, then that of the Set, of an informer, of a store, and of a listener or of the dirty
// kinds. Those of handles and of subscribers are taken alone. None is held over a request or a call of a user, but that
// index functions run under a store's.
package scopedcache
