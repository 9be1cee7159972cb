package placeuses

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// division divides the policy's share of places between tenants, as one owner asks for the
// places in.
type division struct {
	*Index
	owner types.NamespacedName
	in    []string
}

// exclusivePlaces are the places of one tenant that no other tenant names, each with how many places
// the owner has that has the fewest of those that name it.
type exclusivePlaces map[string]int

// exclusivePlacesOf returns the claims of a tenant once the owner has what it asks for.
func (d division) exclusivePlacesOf(tenant string) exclusivePlaces {
	found := exclusivePlaces{}
	note := func(place string, size int) {
		if least, known := found[place]; !known || size < least {
			found[place] = size
		}
	}
	for other := range d.ownersOf(tenant) {
		if other == d.owner {
			continue
		}
		at := d.owners[other]
		for place, list := range at {
			if d.isExclusive(tenant, place) && isNamed(other, place, list) {
				note(place, len(at))
			}
		}
	}
	if TenantOf(d.owner) == tenant {
		for _, place := range d.in {
			if d.isExclusive(tenant, place) {
				note(place, len(d.in))
			}
		}
	}
	return found
}

// isExclusive reports whether no tenant but this one names a place.
func (d division) isExclusive(tenant, place string) bool {
	t := d.tenants[tenant]
	return t == nil && d.named[place] == 0 || t != nil && d.named[place] == t.places[place]
}

// ownersOf returns those owners of a tenant that name places.
func (d division) ownersOf(tenant string) map[types.NamespacedName]int {
	if t := d.tenants[tenant]; t != nil {
		return t.owners
	}
	return nil
}

// firstToYield returns the claims that a tenant gives up first, so many: those of its owners with the
// most places, and of these what is not used yet.
func (d division) firstToYield(c exclusivePlaces, n int) map[string]bool {
	type claim struct {
		place      string
		size, used int
	}
	list := make([]claim, 0, len(c))
	for place, size := range c {
		list = append(list, claim{place: place, size: size, used: min(1, d.named[place])})
	}
	slices.SortFunc(list, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.used, b.used), cmp.Compare(b.place, a.place))
	})
	out := map[string]bool{}
	for _, claim := range list[:min(n, len(list))] {
		out[claim.place] = true
	}
	return out
}

// fitPolicy leaves out what would be too much for all owners of the policy. The tenant with
// the most claims gives way. Who shares a place within the tenant gives it up as well, so that
// owners cannot keep a place from others by naming it twice.
func (d division) fitPolicy(b *Fit) {
	over, _ := d.countBeyond(d.named, policyPlaces, d.owner, d.in)
	if over <= 0 {
		return
	}
	tenant := TenantOf(d.owner)
	own := d.exclusivePlacesOf(tenant)
	if heaviest, most := d.heaviestTenant(tenant); most > len(own) {
		give := min(over, most-len(own))
		over -= give
		d.crowdTenant(heaviest, d.firstToYield(d.exclusivePlacesOf(heaviest), give), b)
	}
	if over <= 0 {
		return
	}
	out := d.firstToYield(own, over)
	d.crowdTenant(tenant, out, b)
	for _, place := range d.in {
		if !out[place] {
			continue
		}
		b.Out[place] = true
		if b.Message == "" {
			b.Message = fmt.Sprintf("the owners of the policy use too many namespaces beside their own; the limit is %d together: owners in the namespace with the most wait, which is that of this one with %d; have several policies, or fewer namespaces", policyPlaces, len(own))
		}
	}
}

// heaviestTenant returns the tenant with the most claims, but for one.
func (d division) heaviestTenant(but string) (heaviest string, most int) {
	for tenant, t := range d.tenants {
		if tenant == but {
			continue
		}
		n := 0
		for place := range t.places {
			if d.isExclusive(tenant, place) {
				n++
			}
		}
		if n > most || n == most && n > 0 && tenant < heaviest {
			heaviest, most = tenant, n
		}
	}
	return heaviest, most
}

// crowdTenant has the owners of a tenant make room that name one of these places, but for
// the one that asks.
func (d division) crowdTenant(tenant string, places map[string]bool, b *Fit) {
	for owner := range d.ownersOf(tenant) {
		if owner == d.owner {
			continue
		}
		for place, list := range d.owners[owner] {
			if places[place] && isNamed(owner, place, list) {
				d.markCrowded(owner, b)
				break
			}
		}
	}
}
