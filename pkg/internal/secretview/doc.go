// Package secretview says what may be known of a Secret that has values which Ambit made, and takes all
// else away before the Secret is kept anywhere.
//
// The Secret says itself which values were made: the annotation v1alpha1.AnnotationMade, which is written by
// the write that makes them. On arrival (package informer/projection) and in every answer of a write (package
// internal/apply) such a value is replaced by a Fact: its length, and of a private key which public key
// belongs to it. A value that is public by what it is, certificates or a public key, stays. That is enough to
// say whether each value is as its recipe wants it (package recipe), so that the values themselves are read
// only by the write that makes new ones.
//
// If somebody takes the annotation away, the values of made keys are not kept at all where only their child
// needs the Secret: whoever needs one asks for the keys of its template and for public ones.
//
// What a Secret holds may be anything: what is parsed is bounded in length and in number, and nothing here
// fails but by saying less.
package secretview
