// Package policy turns the text of a ReconcilePolicy into a Program: checked,
// ordered and ready to evaluate. Every mistake that an author can make is found
// here, all of them at once, each at its line and column, also inside of the
// CEL of folded and quoted scalars.
//
// The path is Parse, then Compile:
//
//	data -> Parse -> []*Document (YAML nodes with positions)
//	Document -> Compile -> *Program, or Errors
//
// The package is pure: no I/O, no goroutine, no clock, no log. It knows nothing
// of a cluster: whether a kind exists is not asked. Which fields the objects of a kind
// have it knows as far as the Schemas say that are given to CompileWith.
//
// Valid input is UTF-8 YAML with `---` between documents, each of apiVersion
// ambit.dev/v1alpha1 and kind ReconcilePolicy, or a List of such. Unknown fields,
// duplicate keys, merge keys, anchors and aliases are errors: a policy says what it
// means where it says it.
package policy
