package placeuses

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// namings divides the shares of namings, as one owner asks for places.
type namings struct {
	*Index
	owner types.NamespacedName
	next  ByPlace
}

// countNamings counts the namings of places.
func (n namings) countNamings(in []string) (sum int) {
	for _, place := range in {
		sum += namingsOf(n.next[place])
	}
	return sum
}

// fitPlaces leaves out what all owners of the tenant, or of the policy, would name too often, and
// returns the rest. The owner of the tenant with the most gives way; of the policy's share the
// tenant with the most does.
func (n namings) fitPlaces(in []string, b *Fit) (rest []string) {
	tenant := shareOf(n.Index, n.owner)
	mine, before := n.countNamings(in), tenant.owners[n.owner]
	together := tenant.namings - before + mine
	over, limit, whose := n.namings-before+mine-policyNamings, policyNamings, "of the policy"
	if over > 0 {
		if heaviest := n.heaviestTenant(); heaviest.namings > together {
			give := min(over, heaviest.namings-together)
			over -= give
			n.crowdLargest(heaviest, give, b)
		}
	}
	if near := together - tenantNamings; near > over {
		over, limit, whose = near, tenantNamings, "in this namespace"
	}
	if over <= 0 {
		return in
	}
	if largest := n.largestUser(tenant); largest.size > mine {
		over -= min(over, largest.size-mine)
		n.markCrowded(largest.owner, b)
	}
	for rest = in; over > 0 && len(rest) > 0; rest = rest[:len(rest)-1] {
		place := rest[len(rest)-1]
		over -= namingsOf(n.next[place])
		b.Out[place] = true
	}
	if len(rest) < len(in) && b.Message == "" {
		b.Message = fmt.Sprintf("the owners %s name other namespaces too often; the limit is %d together, counting a namespace for each owner that names it: those with the most wait, as this one does with %d; name fewer", whose, limit, mine)
	}
	return rest
}

// heaviestTenant returns the share of another tenant than the owner's with the most namings.
func (n namings) heaviestTenant() (heaviest *tenantShare) {
	heaviest, first := &tenantShare{}, ""
	for name, t := range n.tenants {
		if name != TenantOf(n.owner) && (t.namings > heaviest.namings || t.namings == heaviest.namings && name < first) {
			heaviest, first = t, name
		}
	}
	return heaviest
}

// largestUser returns the owner of a tenant with the most namings, but for the one that asks.
func (n namings) largestUser(t *tenantShare) (largest user) {
	for owner, size := range t.owners {
		if who := (user{size, owner}); owner != n.owner && compareUsers(largest, who) < 0 {
			largest = who
		}
	}
	return largest
}

// crowdLargest has the owners of a tenant with the most namings make room, as many as have so
// many together.
func (n namings) crowdLargest(t *tenantShare, room int, b *Fit) {
	list := make([]user, 0, len(t.owners))
	for owner, size := range t.owners {
		list = append(list, user{size, owner})
	}
	slices.SortFunc(list, func(a, b user) int { return compareUsers(b, a) })
	for _, largest := range list {
		if room <= 0 {
			return
		}
		room -= largest.size
		n.markCrowded(largest.owner, b)
	}
}
