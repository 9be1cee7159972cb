// Package meter counts what evaluations of expressions cost, and ends them at limits.
//
// A Meter belongs to one evaluation. Meter.Run runs the evaluation, which charges the
// meter for its steps and its memory as it goes. Whoever charges too much does not get
// control back: the charge ends the evaluation, and Run returns a LimitError. A Budget
// belongs to many evaluations, and is found by their context.
//
// # What ends an evaluation
//
//   - More than CostLimit steps, or more than MemoryLimit bytes.
//   - More time than TimeLimit, or the end of its context. Both are checked every few
//     thousand steps, and nothing else reads a clock: a quick evaluation never fails
//     because the machine is busy.
//   - A panic, of whatever runs in it. Run returns it as an error.
//
// An evaluation whose budget is used up does not begin, and what it gave is not
// returned if it uses up the budget itself. So a budget is exceeded by one evaluation at
// most for each goroutine.
//
// # What it refuses to know
//
// The package knows neither CEL nor its values. What an operation costs is said by
// whoever charges: package charge, and the nodes of package sandbox. It does not see
// what is not charged, and a charge that is made after the fact comes too late: memory is
// to be charged, or ensured, before it is allocated.
package meter
