// Package revisions keeps, for each policy, the revision that runs and the older ones that still hold
// what they needed, and decides when an older one gives that back. It does no I/O, reads no clock, and
// knows nothing of what a revision is: it holds one value for each.
//
// # The life of a revision
//
//  1. New makes a revision, and ReplaceCurrent makes it the current one of its policy. One that was
//     replaced does not come back.
//  2. A worker calls EnterCurrent when it begins to work for a policy, and LeaveRevision when it has
//     done with what it was given. In between the revision may be replaced: then the worker is told so
//     when it leaves, and the next revision hears of what was done before anybody can see the worker
//     gone.
//  3. A revision that was replaced becomes an older one, if a worker was ever in it; one that never had
//     a worker has nothing to give back.
//  4. An older revision is released as soon as it is of no use any more and no worker is in it. It is of
//     no use when the current revision is settled (SettleRevision), when KeepOlder is over, or when its
//     policy is gone. A policy that comes back does not change that.
//
// What is released is returned by the call that ended its use, once, and is the caller's to give back.
// At the end, when no worker is left, ClearOlder returns all older revisions.
package revisions
