// Package ownerinputs finds which streams one owner of a policy needs, where they are permitted, and
// reads from them what a plan is made from. It sends no request and waits for nothing.
//
// # One layout
//
// A Planner belongs to one policy; Plan lays out the inputs of one Subject: an owner, or what the policy
// itself ensures.
//
//  1. What has to be observed is asked of plan.Queries: for each child the places where its objects are
//     for sure, for each watch what it selects. To these come the places that the last plan wanted.
//  2. A place other than the owner's own is used: which owners use which places, and how many of them
//     they may, is kept by package placeuses, and asked about by placepermissions. A use may be
//     optional: what may not be watched is then left out.
//  3. What is permitted in each place has to be known. Plan says how long to wait if it is not.
//  4. What is permitted becomes interests of package informer, of which those for one kind and place are
//     shared; what is not becomes a problem.
//
// The caller opens the result with Inputs.Open, before anything else is done with it, and reads it with
// Planner.Read as often as wanted. It holds until IsCurrent says otherwise.
//
// PlanProbe is for an owner that the policy does not want: it says where to look for children that an
// earlier run may have left, and uses no place for longer than that takes.
//
// # How wide a stream is
//
// Objects are watched where the owner needs them; of a child in more than a few namespaces, in all
// namespaces together, where that is permitted. spec.informers of the policy overrides that.
package ownerinputs
