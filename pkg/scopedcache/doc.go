// Package scopedcache is the cache of an operator written in Go that lives with the permissions it has been
// given, namespace by namespace. It stands in the place of controller-runtime's cache.New, with the same
// interface and the same options, and behaves like it while everything may be read. Where something may not
// be read it says so at once, holds up nobody else, and goes on by itself when the right is granted.
//
//	mgr, err := manager.New(config, manager.Options{NewCache: scopedcache.New(scopedcache.Options{})})
//
// # What it promises
//
//   - WaitForCacheSync, GetInformer and HasSynced wait until each stream is live or was refused: settled, not
//     synced. A read of what is denied returns a DeniedError at once.
//   - Objects are decoded to the types of the scheme, and kept once. A stream that is refused is closed and its
//     objects are dropped, without a Delete for any.
//   - A right that is taken away is noticed while the stream is open, within seconds. One that is granted is
//     found by access reviews, which are sent only while something is denied.
//   - When Start returns, nothing that the cache has started is running.
//
// # What it refuses
//
// cache.Options.NewInformer: informers here are those of package informer. New returns an error that names it.
package scopedcache
