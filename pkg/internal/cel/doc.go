// Package cel compiles and evaluates the expressions and templates of policies.
//
// An expression is type-checked once and becomes an immutable Expr; a tree whose
// strings hold `${...}` becomes an immutable Template. Both know their free
// variables, and for each the fields that they read of it. Where ReadyVar is among
// the variables, `ready(x)` asks for the readiness of what is called x; it reads
// nothing of x.
//
// Expressions see JSON-like Go values and give such values: map[string]any,
// []any, string, int64, float64, bool and nil; what is something else in CEL (a
// timestamp, a quantity) is given as its text. There is no I/O, no clock and no
// randomness in the environment, and a loop over a map goes by its keys in order:
// the same values give the same result.
//
// # What there is
//
// The environment is that of Kubernetes for stored expressions: besides CEL's own
// functions and macros, its libraries of lists (flatten, distinct, slice, sort,
// sortBy, reverse, first, last, lists.range; sum, min, max, indexOf, isSorted),
// sets, strings, regular expressions, optionals, URLs, IP addresses and CIDRs,
// quantities, semantic versions and formats, and macros of two variables (all,
// exists, existsOne, transformList, transformMap, transformMapEntry). List and map
// literals may hold values of different types. There are no literals of protocol
// buffers. An Env may have Functions beside these: functions of Go, of whose cost nothing is
// known but what they are given and what they give.
//
// # Null
//
// A field that is null is none: x.f and x[f] say that there is no such key, x.?f and
// x[?f] have no value, has(x.f) and f in x are false, and no loop comes to it. That
// holds of all maps, and is noticed where they are read (decorateNull): nothing is
// copied. Elements of lists may be null. size(), == and what is given on as a whole
// see a map as it is.
//
// # Types
//
// All variables are of type dyn. In an Env made with schemas (NewTypedEnv), reading
// a field that an object does not have is a mistake as well, see unknownFields;
// evaluation is the same with schemas and without.
//
// # Bounds
//
// Everything runs in package sandbox. An evaluation that ends at a limit of cost, time,
// memory or size fails with EvalError.Budget and a message that says at which.
// testdata/hostile.txt has expressions that ask for too much; they are for the tests of
// other packages as well.
//
// The package knows nothing of policies or files.
package cel
