// Package recipe says how values of Secrets are made that nobody may choose: passwords, tokens, keys and
// certificates; whether those that a Secret has are as they should be; and makes those that are not.
//
//	CheckSecret(recipes, what may be known of the Secret, its issuers, now) -> Verdict: what is not valid, why, until when that holds
//	MakeValues(recipes, the whole Secret, its issuers, now, random bytes)   -> Write: what to write into it
//
// Both are pure but for the randomness of MakeValues. A plan calls CheckSecret with what was kept of the Secret (package
// secretview), and has no more of a value than its recipe. The writer reads the Secret, calls MakeValues, which
// checks again, and writes nothing where all is valid: what is valid is never made anew, whatever a cache showed.
// MakeValues then CheckSecret is valid.
//
// # What is kept where
//
// The Secret is the only truth. Its annotation v1alpha1.AnnotationMade holds since when each value is there and
// for which v1alpha1.AnnotationRotate, and is written by the same write. Where it is gone the values stay, and it
// is written again: a value then counts as old as its Secret. Times of certificates are in the certificates.
//
// # A CA is renewed by overlap
//
// A CA's Secret has the CA that signs (tls.crt, tls.key) and the bundle that clients trust (ca.crt). When it is
// to be renewed:
//
//  1. The next CA is made (next.crt, next.key) and joins the bundle. It signs nothing.
//  2. After the time that clients need to take the bundle (CA.Propagation) it becomes the one that signs. Every
//     certificate of the old one is not valid any more, in the sense of CheckSecret, and is issued anew.
//  3. The old one leaves the bundle when the last certificate that it can have issued has ended: CA.LeafLifetime and
//     the propagation after it signed last, or when it ends itself if that lifetime is not known.
//
// So whoever took its bundle at any time within the propagation verifies every certificate that is in use.
// No certificate outlives the CA that signed it; FindProblems refuses a CA that would end, before it has been replaced,
// earlier than a certificate of it.
package recipe
