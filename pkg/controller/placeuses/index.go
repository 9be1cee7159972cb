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

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Index is what all owners of a policy make use of. Owners that use nothing are not in it. It is
// made by New, and not safe for concurrent use.
type Index struct {
	owners map[types.NamespacedName]ByPlace
	places map[string]map[Use]int // by how many owners
	named  map[string]int         // how many owners name a place that is not their own
	// tenants have owners that name places that are not their own. namings is the sum of
	// theirs.
	tenants map[string]*tenantShare
	namings int
	// payers are on whose account a place is reviewed: of those who use it an owner that
	// uses the fewest places. users are all of these, sorted.
	payers map[string]types.NamespacedName
	users  map[string][]user
	// crowded are owners that have to make room for others.
	crowded map[types.NamespacedName]bool
}

// tenantShare is what the owners of one tenant name.
type tenantShare struct {
	places  map[string]int               // by how many of them
	owners  map[types.NamespacedName]int // the namings of each
	namings int                          // the sum
}

// user is an owner that uses a place, and how many it uses.
type user struct {
	size  int
	owner types.NamespacedName
}

func compareUsers(a, b user) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.owner.Namespace, b.owner.Namespace), cmp.Compare(a.owner.Name, b.owner.Name))
}

// New returns an Index without owners.
func New() *Index {
	return &Index{
		owners: map[types.NamespacedName]ByPlace{}, places: map[string]map[Use]int{}, named: map[string]int{}, tenants: map[string]*tenantShare{},
		payers: map[string]types.NamespacedName{}, users: map[string][]user{}, crowded: map[types.NamespacedName]bool{},
	}
}

// shareOf returns that of the tenant of an owner, an empty one if nobody there names a place. It is
// not to be changed.
func shareOf(u *Index, owner types.NamespacedName) *tenantShare {
	if t := u.tenants[TenantOf(owner)]; t != nil {
		return t
	}
	return &tenantShare{}
}

// SetOwner notes what an owner makes use of from now on; nil: nothing. It keeps next, which is not
// to be changed any more. It returns the places in which that makes a difference, sorted: to what is
// asked there, or to who pays. It looks at the places of this owner only.
func (u *Index) SetOwner(owner types.NamespacedName, next ByPlace) (changed []string) {
	before := u.owners[owner]
	if len(next)+len(before) == 0 {
		return nil
	}
	for place, list := range before {
		for _, what := range list {
			if _, still := slices.BinarySearchFunc(next[place], what, compareUses); !still && u.countUse(place, what, -1) == 0 {
				changed = append(changed, place)
			}
		}
	}
	for place, list := range next {
		for _, what := range list {
			if _, had := slices.BinarySearchFunc(before[place], what, compareUses); !had && u.countUse(place, what, 1) == 1 {
				changed = append(changed, place)
			}
		}
	}
	if len(next) == 0 {
		delete(u.owners, owner)
		delete(u.crowded, owner)
	} else {
		u.owners[owner] = next
	}
	u.countNamed(owner, before, -1)
	u.countNamed(owner, next, 1)
	changed = append(changed, u.updatePayers(owner, before, next)...)
	slices.Sort(changed)
	return slices.Compact(changed)
}

// countNamed adds to the numbers of owners that name places.
func (u *Index) countNamed(owner types.NamespacedName, at ByPlace, more int) {
	name := TenantOf(owner)
	t := u.tenants[name]
	if t == nil {
		t = &tenantShare{places: map[string]int{}, owners: map[types.NamespacedName]int{}}
		u.tenants[name] = t
	}
	for place, list := range at {
		if isNamed(owner, place, list) {
			countPlace(u.named, place, more)
			countPlace(t.places, place, more)
			weight := more * namingsOf(list)
			u.namings, t.namings = u.namings+weight, t.namings+weight
			if t.owners[owner] += weight; t.owners[owner] == 0 {
				delete(t.owners, owner)
			}
		}
	}
	if len(t.places) == 0 {
		delete(u.tenants, name)
	}
}

func countPlace(counts map[string]int, place string, more int) {
	if counts[place] += more; counts[place] == 0 {
		delete(counts, place)
	}
}

// updatePayers notes who uses the places that an owner used or uses, and returns those of which
// another one pays than before.
func (u *Index) updatePayers(owner types.NamespacedName, before, next ByPlace) (changed []string) {
	for place := range before {
		if _, still := next[place]; !still || len(next) != len(before) {
			removeUser(u.users, place, user{len(before), owner})
		}
	}
	for place := range next {
		if _, had := before[place]; !had || len(next) != len(before) {
			addUser(u.users, place, user{len(next), owner})
		}
	}
	for place := range before {
		if _, still := next[place]; !still && u.choosePayer(place) {
			changed = append(changed, place)
		}
	}
	for place := range next {
		if u.choosePayer(place) {
			changed = append(changed, place)
		}
	}
	return changed
}

func addUser(users map[string][]user, place string, who user) {
	i, _ := slices.BinarySearchFunc(users[place], who, compareUsers)
	users[place] = slices.Insert(users[place], i, who)
}

func removeUser(users map[string][]user, place string, who user) {
	if i, ok := slices.BinarySearchFunc(users[place], who, compareUsers); ok {
		users[place] = slices.Delete(users[place], i, i+1)
	}
	if len(users[place]) == 0 {
		delete(users, place)
	}
}

// choosePayer has another owner pay for a place if the one that does is gone, or uses more
// places than another. It reports whether it did.
func (u *Index) choosePayer(place string) bool {
	payer, paid := u.payers[place]
	if len(u.users[place]) == 0 {
		delete(u.payers, place)
		return paid
	}
	first := u.users[place][0]
	if at := u.owners[payer]; at[place] != nil && len(at) <= first.size {
		return false
	}
	u.payers[place] = first.owner
	return true
}

// countUse adds to the number of owners with a use, and returns it.
func (u *Index) countUse(place string, what Use, more int) int {
	counts := u.places[place]
	if counts == nil {
		counts = map[Use]int{}
		u.places[place] = counts
	}
	counts[what] += more
	left := counts[what]
	if left == 0 {
		delete(counts, what)
	}
	if len(counts) == 0 {
		delete(u.places, place)
	}
	return left
}

// HasPlace reports whether an owner makes use of a place.
func (u *Index) HasPlace(owner types.NamespacedName, place string) bool {
	return len(u.owners[owner][place]) > 0
}

// IsUsed reports whether any owner makes use of a place.
func (u *Index) IsUsed(place string) bool { return len(u.places[place]) > 0 }

// PayerOf returns the owner on whose account a place is reviewed; false if nobody uses it.
func (u *Index) PayerOf(place string) (owner types.NamespacedName, used bool) {
	owner, used = u.payers[place]
	return owner, used
}

// UsesIn returns what is made use of in a place, sorted; the caller may keep it.
func (u *Index) UsesIn(place string) []Use {
	if len(u.places[place]) == 0 {
		return nil
	}
	list := make([]Use, 0, len(u.places[place]))
	for what := range u.places[place] {
		list = append(list, what)
	}
	slices.SortFunc(list, compareUses)
	return list
}

// CountPlaces says in how many places a part is made use of, optional uses aside.
func (u *Index) CountPlaces(part string) int {
	n := 0
	for _, counts := range u.places {
		if counts[Use{Part: part}] > 0 {
			n++
		}
	}
	return n
}
