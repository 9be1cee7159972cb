// Package faultplan runs Ambit in a simulated cluster (package sim) by plans of faults:
// what users do, and what goes wrong, in an order that a seed decides. After each plan it
// checks what Ambit promises.
//
//	scenarios, err := faultplan.Scenarios()
//	plan := faultplan.Generate(scenarios, 4711)
//	violations := faultplan.Run(t, plan)
//
// The words:
//
//   - A Scenario is a policy with the cluster that it works in: definitions, namespaces,
//     owners, rights, and objects that are none of its business.
//   - A Plan is a scenario with Steps. A Step waits, for virtual time or for requests of
//     Ambit, and then does one Action: a user edits an owner, an administrator takes a
//     right away, the process ends, an answer is lost, a stream lags.
//   - An invariant is checked with each write that the server accepts (write.go), or when
//     the plan is over and everything has come to rest (rest.go). What does not hold is a
//     Violation.
//
// The result of a plan is compared with a reference: Ambit, undisturbed, in a new cluster
// in which everything that others made is as it was at the end of the plan.
//
// That an invariant is violated when it should be is shown by seeded bugs: see test/sim/bugs.
package faultplan
