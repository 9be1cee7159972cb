// Package cel compiles and evaluates the expressions and templates of policies.
//
// An expression is type-checked once and becomes an immutable Expr; a tree whose
// strings hold `${...}` becomes an immutable Template. Both know their free
// variables, and for each the fields that they read of it.
//
// Expressions see JSON-like Go values and give such values: map[string]any,
// []any, string, int64, float64, bool and nil; what is something else in CEL (a
// timestamp, a quantity) is given as its text. What they may cost is bounded: see
// CostLimit and MaxResultBytes. Short expressions without macros that only read
// and compare run without the count of costs, which takes ten times as long as
// they. There is no I/O, no clock and no randomness in the environment, which is
// that of Kubernetes, but list and map literals may hold values of different types.
//
// The package knows nothing of policies, files or objects' schemas: all
// variables are of type dyn.
package cel
