// Command peers runs Ambit's Memcached policy beside other engines that run operators from a
// document, and prints what each costs: kro, and metacontroller where there is a binary of it.
// `make bench-peers` builds what it needs and runs it; it works in the root of the repository.
//
// kro is built from its Go module, which test/peers pins. No module proxy has metacontroller,
// whose module is named without a domain: it takes part if a binary and its definitions are given.
// A peer that cannot be had is left out, and the table says why.
//
// Each peer does what policies/memcached.yaml says, as far as it can say it: kro by memcached.rgd.yaml,
// with owners of the kind that it makes, and metacontroller by composite.yaml and the webhook of
// test/bench/webhook, with the owners that Ambit has. Each takes part as it is installed, and
// tuned: with Ambit's number of workers and no limit to its requests.
//
// Sides take turns, in another order each round, and a figure is the median over the rounds. A
// turn has a control plane of its own, on which only the side writes:
//
//  1. What the side needs is installed. kro runs until it serves its kind, and stops.
//  2. Owners are made, spread over ten namespaces.
//  3. The side's process starts. It has converged when every owner has a Deployment of its size
//     and a status about its generation; the time counts from the start of the process.
//  4. When it has gone quiet its requests and its memory are read, then what it costs to be quiet:
//     watches do not count as requests, and some sides reopen theirs all the time.
//  5. The process is stopped and started again: its requests until it is quiet.
//
// It exits with 1 if a side does not converge in time, with the end of what that side printed.
package main
