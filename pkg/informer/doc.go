// Package informer shares informers: one stream from the API server per Key,
// however many handlers need it, started on the first need and gone after the
// last.
//
// # What it promises
//
//   - An informer keeps only the fields that somebody reads, and what identifies an
//     object (its name, namespace, uid, labels, resourceVersion and deletion).
//     Parts that are equal in many objects are there once.
//   - A handler is told of changes that alter what is kept, and of nothing
//     else. Nothing is polled.
//   - An informer that the API server refuses (Forbidden, Unauthenticated, Missing,
//     Invalid) is closed, its store is dropped, and its handlers are told.
//     Deletions are never made up. It is tried again later, and no other informer
//     notices. The same happens to an informer that is open when its right is taken
//     away: at once on Set.RevokeInformers, within seconds while Set.Reauthorize is on.
//   - What does not refuse (410, 429, 5xx, refused connections) never stops a
//     informer: it is Degraded while that lasts and keeps its objects.
//   - After the last need of a key is released nothing of its informer remains.
//   - Informers whose keys differ only in what is kept share a stream if one of them has a SharedStorage: each keeps its own
//     form, made from the same events. Who joins has the stream listed again, which others do not notice but for
//     versions of an object that they may skip; who cannot have an object that others can has a stream of its own.
//     Informers with stores of package objectstore in other forms do not share.
//   - Several users share informers by a Set each (Set.ForUser). What a Set needs is released when it ends.
//
// # What it refuses to know
//
// Owners, policies, CEL and permissions. It never asks what it may do: it opens
// the informer and takes the answer. Whoever learns that an answer may have
// changed calls Set.Retry; whoever has proof that a right is gone calls
// Set.RevokeInformers.
//
// # Protocol
//
//  1. Set.Require declares what a handler needs. The first need of a key
//     makes an informer, and a stream with its goroutine unless there is one that it can join. The stream lives until
//     its last informer is released or Set.Start ends.
//  2. A stream lives in epochs. In one epoch a single client-go Reflector feeds
//     the stores of its informers through a reflectorStore, a storageStore or, if there are several, a sharedStore, and every
//     request of it goes through the ListWatcher of that epoch (package listwatch). Whatever they say once an informer
//     is in another epoch is dropped. An informer that joins ends the epoch, and the next one goes on where it was. Epochs are numbered over all informers, so that a key
//     that is released and needed again has a later one.
//  3. The ListWatcher waits between attempts and reads every answer. A final answer ends
//     the epoch; a transient one is kept from the Reflector and tried again in place.
//  4. The first list makes the informer Synced: handlers get one Synced event,
//     not one for each object. From then on they get Added, Updated and Deleted.
//     Later lists are compared with the store.
//  5. After a final answer the store is dropped, handlers get StateChanged,
//     and the next epoch begins after a backoff, or at once on Set.Retry.
//  6. Set.RevokeInformers does the same without an answer, in the caller's goroutine:
//     it gives the informer a new epoch number, so that whatever the Reflector and
//     the ListWatcher of the old epoch still say is dropped, and cancels their requests.
//  7. The API server looks at rights when a watch is opened, never again. While
//     Set.Reauthorize is on, watches are short: package listwatch says how.
//
// What is kept of objects is package projection, where they are is package objectstore, and
// who is told of which is package handlerindex. An embedder's Storage can keep the objects
// instead. An object that was just written enters the store by Set.Observe, before its event
// arrives; Set.HoldEvents is for the case that the event comes first.
package informer
