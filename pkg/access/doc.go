// Package access knows what identities may do now.
//
// # What it promises
//
//   - No RBAC object is ever evaluated. The API server is asked by self-reviews,
//     which every authenticated user may create.
//   - It is quiet: nothing is asked while all that somebody wants to know is allowed
//     and nobody says that something has changed. What is denied is looked at again after a second
//     and then about every four, at most 16 times in a minute for one key; once a
//     minute where RBAC objects are watched.
//   - In no second are more requests sent than the ceiling, for all keys together.
//     Routine probes wait when there is more to ask; invalidations and first reviews go first.
//     Who has little to ask waits for a turn of each of those who have more, and not for
//     all that these have to ask (Payer).
//   - A review that fails changes nothing: what was known stays.
//   - A key that nobody keeps any more is forgotten wholly, and there is no
//     goroutine for a key.
//   - Several users share what is known and the ceiling, by a Reviewer each (Reviewer.ForUser). What one has declared is
//     released when it ends.
//
// # What it refuses to know
//
// Policies, owners and streams. It does not watch RBAC objects: whoever does calls
// Reviewer.Invalidate when one changes.
//
// # Protocol
//
//  1. Reviewer.Require declares which accesses a subscriber wants to know in a Place. The
//     first that is not answered by what is known queues a review at once.
//  2. One SelfSubjectRulesReview answers everything. Where it says that it is
//     incomplete, SelfSubjectAccessReviews follow for what it does not allow. For all
//     namespaces the rules are those of a namespace that cannot be, where only
//     cluster-wide bindings apply.
//  3. Reviewer.Decide, Reviewer.DecideAll and Reviewer.State answer from what is known,
//     without asking. Subscribers are told when the first answer is complete, and when a
//     decision changes.
//  4. While something is denied, routine probes follow. One is one request: the rules,
//     or, in turn, one denied access of those that the rules do not tell of. When its
//     answer is news, all is reviewed.
//  5. Reviewer.Invalidate asks for a review 20 ms later and, until one shows a change, 300
//     ms and 1.5 s after the invalidation, for the authorizer lags behind the watch. Invalidations that
//     come before that are one, but all of its probes are sent: of several changes the
//     authorizer may know only some.
//  6. Reviewer.ReportDenied asks for a review at once. If the rules deny the access, that
//     is it. Otherwise an access review follows for exactly this access, and its answer
//     counts against the rules until they agree.
//  7. A review that is itself refused, by 401 or 403, is State.Refusal: nothing is
//     known then, and probes follow as for a denial. One that fails otherwise is asked
//     again after 1 s, doubling to 15 s.
//
// # How it is paced
//
// One goroutine, that of Reviewer.Start, owns the pace: a schedule of keys by class,
// payer and time, the times of the last requests of all, and of each key. It tells the
// subscribers too. A request has a goroutine while it is under way, a few at a time,
// one of a key. All state is guarded by one mutex, which is held over no request
// and no call to a subscriber.
package access
