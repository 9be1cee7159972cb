// Package policy turns a ReconcilePolicy, as package syntax has read it, into a Program: checked,
// ordered and ready to evaluate. Together they find every mistake that an author can make,
// all of them at once, each at its line and column.
//
//	data -> syntax.Parse -> []*syntax.Document (YAML nodes with positions)
//	Document -> Compile -> *Program, or syntax.Errors
//
// Compile goes through the policy once: policyCompiler.compilePolicy lists the stages. They share an
// expressionCompiler, which compiles CEL in the scope that a part of the policy has, and notes what it
// reads; that has a symbolTable of the names in the policy, and the policyText with the
// places.
//
// A Program answers what others ask of a policy: its Requirements, whether it NeedsFinalizer,
// and by CheckConflicts whether it can run beside others.
//
// The package is pure: no I/O, no goroutine, no clock, no log. It knows nothing
// of a cluster: whether a kind exists is not asked. Which fields the objects of a kind
// have it knows as far as the Schemas say that are given to CompileWith.
package policy
