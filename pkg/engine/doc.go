// Package engine is the operator: it turns events into owner keys and takes
// each owner through observe, plan, apply, status.
//
// # One pass
//
//  1. A stream tells a subscriber that something changed; the subscriber puts
//     the owner's Key into the one queue. Nothing else happens on the stream's
//     goroutine.
//  2. A worker takes the key, fair between policies, and reads the owner from
//     the cache of its stream. An owner that is gone, or that the policy's
//     filter does not want, gives back all it needed; its children and its
//     status stay as they are.
//  3. Observe: the pass declares which streams this owner needs (watch.Keep).
//     While one of them has not delivered its first list, the pass ends; the
//     stream's Synced event brings the owner back. After syncGrace the pass
//     goes on and says in the status what it waits for.
//  4. Plan (package plan, pure) and apply (package apply) take turns until
//     there is nothing left to do: an answer of the API server enters the cache
//     at once (watch.Observe), so the next plan sees it. An action is tried at
//     most once in a pass.
//  5. Status: one patch, if there is a difference.
//
// A pass holds no lock over a request and waits for nothing but its own
// requests. A write that was refused is tried again after its backoff, whatever
// events come before; another write for the same child is tried at once.
//
// Suspended policies, owners being deleted and owners whose stream is not live
// are left as they are.
package engine
