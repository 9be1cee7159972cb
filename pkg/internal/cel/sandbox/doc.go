// Package sandbox runs CEL expressions of strangers within bounds of cost, time and
// memory.
//
// A Planner makes a Program of an expression that cel-go has checked. Program.EvaluateWith
// evaluates it, and ConvertValue copies its value as JSON-like Go values. Both end with a
// meter.LimitError: an evaluation at a limit of package meter, or when its context ends; a
// result at meter.MaxResultBytes; and all evaluations in a context with a meter.Budget
// when that is used up. Panics of cel-go, and of functions, are errors.
//
// # Why Kubernetes' cost limit is not enough
//
// Kubernetes' environment counts costs, too, and stops at a limit. It estimates by the
// types that the checker knows, and in a policy most values are of type dyn:
//
//   - An expression of 201 bytes over a dyn value was charged 204 of 1,000,000 and used
//     3.9 GB. The same over a typed string was stopped at 36 MiB.
//   - replace and join allocate their result before they are charged for it.
//   - A list that holds another many times takes no memory as a CEL value. Converted to
//     JSON, such a list, of 455 bytes of source, passed 7.4 GB.
//   - Its tracking of costs keeps every value, and makes evaluation 2 to 8 times slower.
//
// # What is charged
//
// Programs consist of cel-go's nodes. Those that may cost more than one step are
// replaced by nodes that charge the meter of the evaluation (package meter):
//
//   - A call of a function charges what package charge says of it: steps and memory before
//     it is made, and the memory of its result.
//   - A call of a function that NewPlanner is told to be foreign charges a fixed number of steps, for all of its
//     arguments as if it went through them, all of its result, and checks the time when it is over. Nothing can end it
//     meanwhile.
//   - A list or a map that is written out charges memory by its number of entries.
//   - == and != charge a step for each pair of parts that they compare, and so does `in`
//     for each element of a list.
//   - A loop charges each round by the number of parts in its body, more where loops
//     stand in loops; a loop over a map also charges the sorting of its keys.
//   - ConvertValue charges the bytes of the result, as package jsonvalue counts them.
//
// Reading a field is free: an expression has only so many parts outside of loops.
//
// Wrong keys and optional entries are refused by a check of the sandbox's own, because
// cel-go writes such a value out into its error, at full length (argumentCheck).
//
// # Cheap expressions
//
// A short expression without macros that only reads and compares cannot cost much. It
// runs without a meter, several times as fast (isCheap).
//
// # Null and the order of maps
//
// A map's entry that is null reads as absent: `in` does not find it, and loops leave it
// out. A loop over a map goes by its keys in order, so that the same values give the same
// result. How fields are read is the caller's: NewPlanner takes a decorator for it.
//
// # Adding a function
//
// A function that the base environment of NewPlanner comes to have works at once: what no
// rule names is charged by charge's deepRule, for going through all of its arguments once and
// needing up to 64 bytes for each part and 8 for each letter of them. If that is too little
// (it compares each with each, repeats an argument, or makes more than its arguments are),
// write a rule and name it in charge.RuleOf. If it costs a constant, name it in
// charge.IsFree; if it also makes nothing, in isCheapCall. Then add expressions with it
// to testdata/charges.txt (go test ./pkg/internal/cel/sandbox -run TestCharges -rewrite
// writes what they are charged), and one that asks for too much to hostile.txt in the
// testdata of package cel.
package sandbox
