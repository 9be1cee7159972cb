package placeuses

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// FitOwner applies the limits to what an owner is to make use of. It neither keeps nor changes next:
// the caller leaves out what does not fit, and calls SetOwner. What the owner uses already goes
// first. Where all owners of a tenant want too much, the one with the most that nobody else uses
// gives way; where all of the policy do, the tenant with the most that no other tenant uses.
func (u *Index) FitOwner(owner types.NamespacedName, next ByPlace) Fit {
	delete(u.crowded, owner)
	in, out := u.splitPlaces(owner, next)
	b := Fit{Out: map[string]bool{}}
	for _, place := range out {
		b.Out[place] = true
	}
	if len(out) > 0 {
		b.Message = fmt.Sprintf("the owner uses %d namespaces beside its own, counting each child there up to %d; the limit is %d: name fewer, or have several owners", len(in)+len(out), ownerUses, ownerPlaces)
	}
	in = namings{u, owner, next}.fitPlaces(in, &b)
	in = u.fitTenant(owner, in, &b)
	division{u, owner, in}.fitPolicy(&b)
	return b
}

// splitPlaces divides the places that an owner names into those that it may use and others.
func (u *Index) splitPlaces(owner types.NamespacedName, next ByPlace) (in, out []string) {
	var had, rest []string
	for _, place := range slices.Sorted(maps.Keys(next)) {
		switch {
		case !isNamed(owner, place, next[place]):
		case u.hasNamed(owner, place):
			had = append(had, place)
		default:
			rest = append(rest, place)
		}
	}
	parts := 0
	for _, place := range append(had, rest...) {
		if len(in) >= ownerPlaces || parts+len(next[place]) > ownerUses {
			out = append(out, place)
			continue
		}
		parts += len(next[place])
		in = append(in, place)
	}
	return in, out
}

// fitTenant leaves out what would be too much for all owners of the tenant, and returns the
// rest.
func (u *Index) fitTenant(owner types.NamespacedName, in []string, b *Fit) (rest []string) {
	over, mine := u.countBeyond(shareOf(u, owner).places, tenantPlaces, owner, in)
	if over <= 0 {
		return in
	}
	if heaviest, most := u.heaviestOwner(owner); most > len(mine) {
		over -= min(over, most-len(mine))
		u.markCrowded(heaviest, b)
	}
	if over <= 0 {
		return in
	}
	for _, place := range mine[max(0, len(mine)-over):] {
		b.Out[place] = true
	}
	if b.Message == "" {
		b.Message = fmt.Sprintf("the owners in this namespace use too many other namespaces; the limit is %d together: the owner with the most waits, which is this one with %d; name fewer", tenantPlaces, len(mine))
	}
	return slices.DeleteFunc(in, func(place string) bool { return b.Out[place] })
}

// heaviestOwner returns the owner of the same tenant that uses the most places that no other of it
// does, but for one.
func (u *Index) heaviestOwner(but types.NamespacedName) (heaviest types.NamespacedName, most int) {
	tenant := shareOf(u, but)
	for owner := range tenant.owners {
		if owner == but {
			continue
		}
		n := 0
		for place := range u.owners[owner] {
			if tenant.places[place] == 1 && u.hasNamed(owner, place) {
				n++
			}
		}
		if n > most || n == most && n > 0 && owner.String() < heaviest.String() {
			heaviest, most = owner, n
		}
	}
	return heaviest, most
}
