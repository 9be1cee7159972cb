// Package syntax reads the text of policies: YAML, or objects of the API server, to Documents
// that know the place of each of their nodes. It decodes them into the types of the API, and
// says what is wrong with a text as Errors, each at its line and column, also inside of
// the CEL of folded and quoted scalars.
//
//	data -> Parse -> []*Document -> DecodePolicy -> *v1alpha1.ReconcilePolicy
//
// A mistake is added to Diagnostics with the node that it is about; reading goes on after it.
//
// Valid input is UTF-8 YAML with `---` between documents, each of apiVersion
// ambit.dev/v1alpha1 and kind ReconcilePolicy, or a List of such. Unknown fields,
// duplicate keys, merge keys, anchors and aliases are errors: a policy says what it
// means where it says it.
//
// The package is pure, and knows nothing of CEL: what a policy means is for package policy.
package syntax
