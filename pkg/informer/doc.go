// Package informer shares informers: one stream from the API server per Key,
// however many subscribers need it, started on the first need and gone after the
// last.
//
// # What it promises
//
//   - A stream keeps only the fields that somebody reads, and what identifies an
//     object (its name, namespace, uid, labels, resourceVersion and deletion).
//     Parts that are equal in many objects are there once.
//   - A subscriber is told of changes that alter what is kept, and of nothing
//     else. Nothing is polled.
//   - A stream that the API server refuses (Forbidden, Unauthenticated, Missing,
//     Invalid) is closed, its store is dropped, and its subscribers are told.
//     Deletions are never made up. It is tried again later, and no other stream
//     notices. The same happens to a stream that is open when its right is taken
//     away: at once on Set.Revoke, within seconds while Set.Reauthorize is on.
//   - What does not refuse (410, 429, 5xx, refused connections) never stops a
//     stream: it is Degraded while that lasts and keeps its objects.
//   - After the last need of a key is released nothing of its stream remains.
//
// # What it refuses to know
//
// Owners, policies, CEL and permissions. It never asks what it may do: it opens
// the stream and takes the answer. Whoever learns that an answer may have
// changed calls Set.Retry; whoever has proof that a right is gone calls
// Set.Revoke.
//
// # Protocol
//
//  1. Set.Require declares what a subscriber needs. The first need of a key
//     makes a stream and its goroutine, which lives until the last need of the
//     key is released or Set.Start ends.
//  2. A stream lives in epochs. In one epoch a single client-go Reflector feeds
//     the stream's store through a sink that knows the number of its epoch; a
//     call from a sink of another epoch is dropped. Epochs are numbered over all
//     streams, so that a key that is released and needed again has a later one.
//  3. Every request of the Reflector goes through the opener of its epoch: it
//     takes a slot (few streams are opened at a time), counts failures, waits
//     between attempts, and reads every answer. A final answer ends the epoch; a
//     transient one is kept from the Reflector and tried again in place, so that
//     a watch resumes where it was, without a list.
//  4. The first list makes the stream Synced: subscribers get one Synced event,
//     not one for each object. From then on they get Added, Updated and Deleted.
//     Later lists are compared with the store.
//  5. After a final answer the store is dropped, subscribers get StateChanged,
//     and the next epoch begins after a backoff, or at once on Set.Retry.
//  6. Set.Revoke does the same without an answer, in the caller's goroutine:
//     it gives the stream a new epoch number, so that whatever the Reflector and
//     the opener of the old epoch still say is dropped, and cancels their requests.
//  7. The API server looks at rights when a watch is opened, never again. While
//     Set.Reauthorize is on, the opener asks for watches of 3 or 4 seconds; those
//     that were opened for longer, because they bring a list or are from before, it
//     ends itself, never within a second of their list. The Reflector takes both
//     for timeouts and opens the next watch where it was. All ends are planned with
//     one pacer, which holds the ceiling.
//
// An object that was just written enters the store by Set.Observe, before
// its event arrives: see there.
package informer
