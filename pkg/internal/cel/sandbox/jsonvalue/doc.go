// Package jsonvalue copies values of CEL as JSON-like Go values: map[string]any, []any,
// string, int64, float64, bool and nil.
//
// A value of CEL may be far larger as JSON than it is in memory: a list that holds
// another ten times, over a few levels, is one. So Convert counts as it copies, a part
// each time that it is there, and ends with meter.ErrResultTooLarge once the result is
// larger than meter.MaxResultBytes. It refuses lists and maps by their length before it
// copies their parts.
//
// The result shares nothing with the value, so that either may be changed. The value
// must not be changed meanwhile. Everything is safe for concurrent use.
//
// The package knows neither expressions nor evaluations: it charges nothing, and says
// how much there is to be charged for.
package jsonvalue
