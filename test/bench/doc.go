// Command bench runs Ambit's Memcached policy beside the same operator written by
// hand, side by side on one control plane, and prints what each costs. `make
// bench` builds what it needs and runs it; it works in the root of the repository.
//
// There is no kube-controller-manager, so only the side that is measured writes.
// The sides take turns, in another order each round, and a figure is the median
// over the rounds; of touches, over all touches. Each side is a process of its
// own and a user of its own, which is how the audit log tells whose requests are
// whose. A turn of a side:
//
//  1. Owners are made, spread over ten namespaces.
//  2. The side's process starts. It has converged when every owner has a
//     Deployment of its size and a status about its generation; the time counts
//     from the start of the process.
//  3. When it has gone quiet its requests and its memory are read.
//  4. The process is stopped and started again: its requests until it is quiet.
//  5. All owners and Deployments are deleted, and the owners made anew while the
//     side runs: the time counts from the first creation.
//
// Then each side gets a control plane of its own, and owners are touched one after
// the other, twenty of each side in turn: the size changes, and the time counts
// until the watch shows the Deployment changed. Halfway the sides change places.
//
// An API server keeps the size of its heap, which a turn that does not count has
// filled, or the making of the owners that are touched: what it costs to grow falls
// to no side.
//
// It exits with 1 if a side does not converge in time, with the end of what that
// side printed.
package main
