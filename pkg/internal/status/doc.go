// Package status turns what a plan says about an owner into the owner's next
// status, and writes it: once per pass, as one patch against what was read,
// and not at all when nothing changed.
//
// Of the status, Ambit touches the fields that the policy's template names,
// observedGeneration, and the conditions of its own and of the policy's types.
// Everything else in the status belongs to others and stays.
package status
