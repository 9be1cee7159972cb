// Command large runs Ambit with many owners, and prints what that costs. `make bench-large`
// builds what it needs and runs it; it works in the root of the repository. In full it takes
// a quarter of an hour, with -scale 50 three minutes.
//
// There are three scenes:
//
//   - one child: policies/memcached.yaml, and 1,000, 3,000 and 10,000 owners in 100 namespaces,
//     beside the bare client of test/bench. Since only the number of owners differs, the table also says
//     what grows faster than that number.
//   - four children: four.yaml, and 9,000 owners in 100 namespaces.
//   - by namespace: policies/memcached.yaml, and 1,000 namespaces with five owners each. Ambit
//     has a Role in each of them, and no right in the cluster as a whole.
//
// Each run has a control plane of its own, without kube-controller-manager, so that only the side
// that is measured writes. A run:
//
//  1. The owners are made.
//  2. The side's process starts. It has converged when every owner has all its children and
//     a status about its generation; time counts from the start of the process.
//  3. When it has sent no request for two seconds, and then for restTime, its memory is read.
//  4. Ambit is stopped and started again. It has verified everything when it has reconciled
//     every owner, and goes on with none for two seconds; time counts until the last one. Then its
//     memory is read as before.
//
// It exits with 1 if a side does not get there in time, with the end of what that side printed.
package main
