package placeuses

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// Which namespaces an owner uses beside its own is said by its author: in its spec, where a
// template or a watch reads it, or in its record. Each costs a review and streams, so that
// there are limits. They count namespaces that owners name; those of watches in all
// namespaces are the policy's choice.
const (
	// ownerPlaces is how many namespaces one owner may use beside its own, and ownerUses in
	// how many of them its children and watches may be, each counted for itself: no owner
	// has more objects.
	ownerPlaces = plan.MaxElements
	ownerUses   = plan.MaxObjects
	// tenantPlaces is how many namespaces all owners in one namespace may use together, and
	// policyPlaces is that of all owners of a policy. One that several use counts once.
	tenantPlaces = 2000
	policyPlaces = 5000
	// tenantNamings and policyNamings are how often they may name one, counting it for each
	// owner: what is kept and looked through for an owner costs as much where others name the
	// same. What is left of children of the policy counts for each kind there is of it in a
	// place, since each has a stream of its own.
	tenantNamings = 10_000
	policyNamings = 25_000
)

// hasNamed reports whether an owner uses a place that it names.
func (u *Index) hasNamed(owner types.NamespacedName, place string) bool {
	return isNamed(owner, place, u.owners[owner][place])
}

// Fit is what the limits say of what an owner is to make use of.
type Fit struct {
	// Out are the places that it may not use. Message says why, to the author of the owner; it is
	// empty if there are none.
	Out     map[string]bool
	Message string
	// Crowded are other owners that have to make room from now on: the caller has each of them
	// looked at again.
	Crowded []types.NamespacedName
}

// markCrowded notes that an owner has to make room for another one.
func (u *Index) markCrowded(owner types.NamespacedName, b *Fit) {
	if !u.crowded[owner] {
		u.crowded[owner] = true
		b.Crowded = append(b.Crowded, owner)
	}
}

// IsCrowded reports whether an owner has to make room for others.
func (u *Index) IsCrowded(owner types.NamespacedName) bool { return u.crowded[owner] }

// countBeyond returns by how many the places that several owners name, by how many, are more than
// a limit once an owner has those in, and which of these nobody else names.
func (u *Index) countBeyond(named map[string]int, limit int, owner types.NamespacedName, in []string) (over int, mine []string) {
	others := len(named)
	for place := range u.owners[owner] {
		if u.hasNamed(owner, place) && named[place] == 1 {
			others--
		}
	}
	for _, place := range in {
		if n := named[place]; n == 0 || n == 1 && u.hasNamed(owner, place) {
			mine = append(mine, place)
		}
	}
	return others + len(mine) - limit, mine
}
