// Package schemas says which fields the objects of a kind have, for the type check
// of expressions and of what is written to a status: see cel.Schema.
//
// A Set is made from CustomResourceDefinitions, or from an OpenAPI v3 document as
// an API server publishes one for each group and version. What a schema leaves
// open is open here: unknown fields that are preserved, integers or strings, free
// maps, objects without any property, and whatever is described only by
// alternatives. Other keywords are not looked at: they say which values are legal,
// not which fields there are.
//
// References are followed when a field is asked for, so that schemas may refer to
// themselves. There is no I/O.
package schemas
