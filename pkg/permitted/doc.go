// Package permitted opens informers where access allows: cluster-wide, or else by namespace.
//
// # What it promises
//
//   - A Watch has its informers while the last review allows to list and watch what they show.
//     It has none while something that they need is denied, so no request is sent that is known
//     to be refused.
//   - What is not known changes nothing.
//   - An informer that the API server refuses is reported to the reviewer; the review that follows
//     decides. A refused informer is tried again as soon as permissions change.
//   - The user of a Watch is told when permissions may have changed, and of what informers tell.
//
// # What it refuses to know
//
// Policies, owners, and what a missing permission means to them. It asks nothing by itself:
// somebody who is told of a change calls Require again.
//
// # States
//
// A Watch follows Permission.Decision when Require is called:
//
//	Decision | is                                                          | the informers are
//	Unknown  | no answer yet to something, and nothing is denied           | as they were
//	Refused  | the review itself was refused: nothing is known              | closed
//	Denied   | something is missing: Permission.Missing                     | closed
//	Allowed  | all of it is allowed                                         | opened, or left open
//
// With Query.TryUndecided informers are opened as well if the review is done, or refused, and nothing
// is denied: the answer of the API server to the informer then counts. Release closes the informers and
// gives back the review.
//
// A Scoped is a Watch in all namespaces; while that is denied, one in each of some namespaces.
package permitted
