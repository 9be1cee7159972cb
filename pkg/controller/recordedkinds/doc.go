// Package recordedkinds keeps which kinds are looked up only because records of owners name them, and
// decides how many that may be. It does no I/O and reads no clock.
//
// A record, the owner's annotation ambit.dev/children, may name kinds that the policy does not have:
// those of what an earlier version of it made. How such a kind is served has to be looked up before
// what is recorded can be removed. The caller
//
//   - calls AddKind before it looks up a kind for an owner. It does not look it up if the answer is
//     false: the owner waits.
//   - calls RetainKinds when it knows what an owner needs, or that it is gone.
//   - gives up looking for the kinds that both of them return as gone: no owner needs them.
//
// Only searches are bounded, that is kinds for which the API server has given no answer yet: what is
// known costs nothing. An owner that names many takes nothing from one that names few: it is
// the one whose last kind is dropped.
package recordedkinds
