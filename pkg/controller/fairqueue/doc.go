// Package fairqueue divides workers and time between policies, so that no policy delays
// the owners of another one for long.
//
// Four mechanisms, from the one that always acts to the one that rarely does:
//
//   - The queue of New lets policies take turns. A policy with ten thousand owners delays
//     one with a single owner by one reconcile for each worker. So do the namespaces of a
//     policy's owners.
//   - CostHistory remembers which owners of a policy are expensive to reconcile.
//   - Throttle is shared by all policies. It admits one expensive owner at a time, and
//     pauses afterwards in proportion to the time that was used.
//   - Quarantine is a circuit breaker. An owner that exceeds a limit waits with exponential
//     backoff. If many owners of a policy do, the whole policy waits.
//
// # Protocol
//
// A worker that got an owner's Key from the queue calls, in this order:
//
//  1. Quarantine.WaitTime. If it is not 0, the worker requeues the key after that time.
//  2. CostHistory.IsExpensive. If so, it calls Throttle.TryEnter, and either requeues the key
//     after the result or calls Throttle.LeaveAndPause when the reconcile ends, however it ends.
//  3. After each evaluation: CostHistory.RecordSlow if it took long, and Throttle.ChargeTime if
//     the owner is expensive.
//  4. After a plan or a filter that exceeded a limit: Quarantine.RecordExceeded and
//     CostHistory.RecordExceeded. After a plan that did not: Quarantine.RecordSuccess.
//
// When an owner is gone, Quarantine.RecordSuccess and CostHistory.ForgetOwner drop what is
// known of it.
//
// # What it does not know
//
// The package does not evaluate, measure or log anything, and knows nothing of the API
// server. It reads no clock: callers pass the time. Only the queue of New, which is
// client-go's, has a clock and goroutines of its own.
package fairqueue
