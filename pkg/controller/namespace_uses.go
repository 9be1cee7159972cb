package controller

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// namespaceUse is something of a policy that an owner makes use of in a place that is not the
// owner's own, or that was not known to be before it was looked at. It is comparable.
type namespaceUse struct {
	// part is the id of a child, watch or ensured object; empty for what is left of a
	// child that the policy no longer has.
	part string
	// kind is that of what is left; it has only to be found and removed. released: only
	// our fields in it are.
	kind     schema.GroupVersionKind
	released bool
	// optional: it is of use to list and watch there, and nothing is missing where that
	// is denied.
	optional bool
}

func compareNamespaceUses(a, b namespaceUse) int {
	return cmp.Or(
		cmp.Compare(a.part, b.part), compareKinds(a.kind, b.kind),
		cmp.Compare(strconv.FormatBool(a.released), strconv.FormatBool(b.released)),
		cmp.Compare(strconv.FormatBool(a.optional), strconv.FormatBool(b.optional)),
	)
}

// usesAt are what one owner makes use of, by place: sorted, each once.
type usesAt map[string][]namespaceUse

// addUse notes a use of a place.
func (u usesAt) addUse(place string, what namespaceUse) {
	if i, ok := slices.BinarySearchFunc(u[place], what, compareNamespaceUses); !ok {
		u[place] = slices.Insert(u[place], i, what)
	}
}

// hasParts says whether a part, or one of several, is made use of in a place.
func (u usesAt) hasParts(place string, parts []string) bool {
	return slices.ContainsFunc(u[place], func(w namespaceUse) bool { return w.part != "" && !w.optional && slices.Contains(parts, w.part) })
}

// namespaceUses are those of all owners of a policy. Owners that have none are not in it. Not
// safe for concurrent use.
type namespaceUses struct {
	owners map[types.NamespacedName]usesAt
	places map[string]map[namespaceUse]int // by how many owners
	named  map[string]int                  // how many owners name a place that is not their own
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

func newNamespaceUses() namespaceUses {
	return namespaceUses{
		owners: map[types.NamespacedName]usesAt{}, places: map[string]map[namespaceUse]int{}, named: map[string]int{}, tenants: map[string]*tenantShare{},
		payers: map[string]types.NamespacedName{}, users: map[string][]user{}, crowded: map[types.NamespacedName]bool{},
	}
}

// shareOf returns that of the tenant of an owner, an empty one if nobody there names a place. It is
// not to be changed.
func shareOf(u *namespaceUses, owner types.NamespacedName) *tenantShare {
	if t := u.tenants[tenantOf(owner)]; t != nil {
		return t
	}
	return &tenantShare{}
}

// setOwner notes what an owner makes use of from now on; nil: nothing. It returns the
// places in which that makes a difference: to what is asked there, or to who pays. It looks at
// the places of this owner only.
func (u *namespaceUses) setOwner(owner types.NamespacedName, next usesAt) (changed []string) {
	before := u.owners[owner]
	for place, list := range before {
		for _, what := range list {
			if _, still := slices.BinarySearchFunc(next[place], what, compareNamespaceUses); !still && u.countUse(place, what, -1) == 0 {
				changed = append(changed, place)
			}
		}
	}
	for place, list := range next {
		for _, what := range list {
			if _, had := slices.BinarySearchFunc(before[place], what, compareNamespaceUses); !had && u.countUse(place, what, 1) == 1 {
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
	u.countPlaces(owner, before, -1)
	u.countPlaces(owner, next, 1)
	changed = append(changed, u.payAnew(owner, before, next)...)
	slices.Sort(changed)
	return slices.Compact(changed)
}

// countPlaces adds to the numbers of owners that name places.
func (u *namespaceUses) countPlaces(owner types.NamespacedName, at usesAt, more int) {
	name := tenantOf(owner)
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

// payAnew notes who uses the places that an owner used or uses, and returns those of which
// another one pays than before.
func (u *namespaceUses) payAnew(owner types.NamespacedName, before, next usesAt) (changed []string) {
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
func (u *namespaceUses) choosePayer(place string) bool {
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
func (u *namespaceUses) countUse(place string, what namespaceUse, more int) int {
	counts := u.places[place]
	if counts == nil {
		counts = map[namespaceUse]int{}
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

// usesIn returns what is made use of in a place, sorted.
func (u *namespaceUses) usesIn(place string) []namespaceUse {
	if len(u.places[place]) == 0 {
		return nil
	}
	list := make([]namespaceUse, 0, len(u.places[place]))
	for what := range u.places[place] {
		list = append(list, what)
	}
	slices.SortFunc(list, compareNamespaceUses)
	return list
}

// placesOf says in how many places a part is made use of, optional uses aside.
func (u *namespaceUses) placesOf(part string) int {
	n := 0
	for _, counts := range u.places {
		if counts[namespaceUse{part: part}] > 0 {
			n++
		}
	}
	return n
}

// setNamespaceUses notes what an owner makes use of from now on, and asks about the places.
func (op *policyController) setNamespaceUses(owner types.NamespacedName, next usesAt) {
	op.mu.Lock()
	if len(next) == 0 && len(op.namespaceUses.owners[owner]) == 0 {
		op.mu.Unlock()
		return
	}
	changed := op.namespaceUses.setOwner(owner, next)
	op.mu.Unlock()
	for _, place := range changed {
		op.updateRequest(place)
	}
}

// updateRequest declares anew what is asked about a place because of its uses, and takes the
// answer in: that less is asked is no news to anybody, nor is what is known already, and
// what others lack there is reported all the same.
func (op *policyController) updateRequest(place string) {
	op.requestMutex.Lock()
	defer op.requestMutex.Unlock()
	defer op.currentPermissions(place)
	op.mu.Lock()
	before, asked := op.permissionRequests[place]
	used := len(op.namespaceUses.places[place]) > 0
	op.mu.Unlock()
	switch {
	case asked && (used || before.extent > asUsed):
		op.putRequestLocked(place, before.extent)
	case used:
		op.putRequestLocked(place, asUsed)
	default:
		op.dropRequestLocked(place)
	}
}
