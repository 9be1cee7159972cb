// Package placeuses keeps the books of which owner of a policy uses which place, and what for, and
// decides how much an owner may use. It does no I/O, reads no clock and holds no lock.
//
// A place is a namespace, or empty: all namespaces, and what is in none. An Index has the uses of
// all owners of one policy. The protocol for an owner, each time when it is laid out what it uses:
//
//  1. The caller collects the uses in a ByPlace.
//  2. FitOwner says which of these places are beyond the limits. The caller leaves them out, and has
//     the owners looked at again that are Crowded now.
//  3. SetOwner notes the rest, and returns the places about which something else is to be asked than
//     before, or on another account. An owner that is gone is set to nil.
//
// # Limits
//
// The limits are those of one owner, of one tenant (see TenantOf) and of the policy. Of tenants and
// of the policy both the places and the namings are counted: how often a place is named, by
// whomever. An owner that asks for more than is left gets it where another one has more: that is
// then crowded, and finds, when it is looked at, that it has to give up what it has too much.
//
// # Who pays
//
// A place that owners use is reviewed on the account of one of them, the payer: of those that use it
// an owner that uses the fewest places. It stays the payer until it is gone, or another one uses
// fewer.
package placeuses
