// Package charge says what calls of CEL's functions cost, and charges a meter for it.
//
// A call is charged twice: before it is made by the rule of its function (RuleOf), and
// afterwards for the memory of its result (ChargeResult). Functions that cost no more than a
// step need neither (IsFree). A function of which nothing is known, because it is none of CEL's, is
// charged by ForeignCall and ForeignResult. A comparison is charged as it goes (ChargedEqual). Where an
// evaluation exceeds a limit, the meter ends it: then none of these returns.
//
// # Steps
//
// A step is about one value that a function looks at, 64 bytes that it copies or compares
// at the speed of memory, or fewer where it does more with each. A rule charges by the size
// of the arguments, and by how often the function goes through them. Whatever goes
// through all of a value charges a part each time that it is there, however often it is
// shared (scanValue).
//
// # What is refused before it is allocated
//
// A rule knows the arguments, not the result. Where the result, or what the function
// needs meanwhile, may be larger than the arguments, the rule computes that size and
// ends the evaluation if there is no room (Meter.EnsureMemory): additions of text and of
// lists, replace, split, join, format with its precisions, lists.range, sort, distinct and
// the functions of sets, flatten, regular expressions that are computed, and the query of
// a URL. Three things are refused at once: an addition of lists that gives more than
// maxListSize elements, a regular expression of more than maxRegexWeight instructions, and
// a quantity whose exponent is more than maxExponent, for its digits are written out.
//
// # What it refuses to know
//
// The package calls no function and evaluates nothing: when a rule is asked, and what is
// done about loops, literals and fields, is package sandbox's. Values are only read. All
// functions are safe for concurrent use, each evaluation with its own meter.
package charge
