// Package discovery finds the resources behind kinds, and notices kinds that come and go.
//
// A Cache holds what the API server has said. Everything but PollRound answers from memory, so no
// worker ever waits for a request.
//
// # Protocol
//
//  1. LookupKind returns what is known of a kind. If nothing is known, the kind is wanted from then
//     on: it is part of every round until it is found or released. LookupKinds wants several, of which the
//     next round asks about all. LookupLazily is for kinds that nobody but one owner waits for.
//
//  2. One goroutine of the caller runs the rounds:
//
//     for cache.WaitForRound(ctx) {
//     handle(cache.PollRound(ctx))
//     }
//
//     WaitForRound returns when a round is due. LookupKind, ConfirmGone and RefreshAll wake it.
//
//  3. PollRound makes one round: it asks about all wanted kinds and all stale resources in one call
//     of Options.Served (of kinds that are looked up lazily only as many as cost little: the
//     others wait for their turn), and returns the kinds whose answer has changed. Whoever needs one of
//     them calls LookupKind again.
//
//  4. A kind that was found is never asked about again, unless its resource becomes stale: an
//     informer was answered "not found", and the caller asks ConfirmGone. Only an answer that is
//     younger than the informer's own, and has no version of the kind, means that the kind is
//     gone. LookupKind still returns the resource, since the kind may be back at any moment.
//
//  5. A stale resource is fresh again when its informer runs and the kind was never seen gone.
//     If it was, the kind may have another scope or resource now, so it is asked about once more.
//
//  6. A kind that is served in another version only is an OtherVersionError, which has the
//     Resource as it is served: enough to ask for rights and to remove objects.
//
//  7. ReleaseUnneeded ends the search for kinds that nobody needs. The caller counts who needs what: it
//     notes the need first and calls LookupKind second. A kind that is looked up while it runs
//     stays wanted.
//
//  8. RefreshAll makes everything due: a CustomResourceDefinition has changed, which may be about
//     any kind.
//
// # Cost
//
// A round costs the same for one kind and for a thousand, and asks about no more of those that are
// looked up lazily, however many there are. If more are due, 1000 others have their turn every 4
// seconds; what has no answer yet goes first. Ten rounds may follow each other at
// once, then there is one every 600 ms at most. A kind that is not found is due after 1, 2, 4, 4,
// ... seconds; one that is looked up lazily, and that the API server says is not served, after up
// to 5 minutes. A round answers what is not due yet as well. Nothing is asked while nothing is
// wanted or stale.
//
// # What it refuses to know
//
// Policies, owners, informers and rights; how the API server is asked; and why a kind is not
// served.
package discovery
