package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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
	// crowdedRetry is when an owner looks again whether others have made room.
	crowdedRetry = 30 * time.Second
)

// isNamed reports whether an owner's own content names a place that is not its own.
func isNamed(owner types.NamespacedName, place string, list []namespaceUse) bool {
	return place != allNamespaces && place != owner.Namespace && slices.ContainsFunc(list, func(w namespaceUse) bool { return !w.optional })
}

// hasNamed reports whether an owner uses a place that it names.
func (u *namespaceUses) hasNamed(owner types.NamespacedName, place string) bool {
	return isNamed(owner, place, u.owners[owner][place])
}

// placeBound is what the limits say of what an owner is to make use of.
type placeBound struct {
	// out are the places that it may not use. problem says why, nil if there are none.
	out     map[string]bool
	problem *plan.Problem
	// crowded are other owners that have to make room from now on.
	crowded []types.NamespacedName
}

// markCrowded notes that an owner has to make room for another one.
func (u *namespaceUses) markCrowded(owner types.NamespacedName, b *placeBound) {
	if !u.crowded[owner] {
		u.crowded[owner] = true
		b.crowded = append(b.crowded, owner)
	}
}

// boundOwner applies the limits. What the owner uses already goes first. Where all owners of a
// tenant want too much, the one with the most that nobody else uses gives way; where all of
// the policy do, the tenant with the most that no other tenant uses.
func (u *namespaceUses) boundOwner(owner types.NamespacedName, next usesAt) placeBound {
	delete(u.crowded, owner)
	in, out := u.fitOwner(owner, next)
	b := placeBound{out: map[string]bool{}}
	for _, place := range out {
		b.out[place] = true
	}
	if len(out) > 0 {
		b.problem = limitProblem("the owner uses %d namespaces beside its own, counting each child there up to %d; the limit is %d: name fewer, or have several owners", len(in)+len(out), ownerUses, ownerPlaces)
	}
	in = namings{u, owner, next}.fit(in, &b)
	in = u.fitTenant(owner, in, &b)
	division{u, owner, in}.fitPolicy(&b)
	return b
}

// fitOwner divides the places that an owner names into those that it may use and others.
func (u *namespaceUses) fitOwner(owner types.NamespacedName, next usesAt) (in, out []string) {
	var had, rest []string
	for _, place := range sortedKeys(next) {
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

// tenantOf says who an owner belongs to: all in one namespace are one tenant, and each owner
// without a namespace is one.
func tenantOf(owner types.NamespacedName) string {
	return cmp.Or(owner.Namespace, "/"+owner.Name)
}

// countBeyond returns by how many the places that several owners name, by how many, are more than
// a limit once an owner has those in, and which of these nobody else names.
func (u *namespaceUses) countBeyond(named map[string]int, limit int, owner types.NamespacedName, in []string) (over int, mine []string) {
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

// fitTenant leaves out what would be too much for all owners of the tenant, and returns the
// rest.
func (u *namespaceUses) fitTenant(owner types.NamespacedName, in []string, b *placeBound) (rest []string) {
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
		b.out[place] = true
	}
	if b.problem == nil {
		b.problem = limitProblem("the owners in this namespace use too many other namespaces; the limit is %d together: the owner with the most waits, which is this one with %d; name fewer", tenantPlaces, len(mine))
	}
	return slices.DeleteFunc(in, func(place string) bool { return b.out[place] })
}

// heaviestOwner returns the owner of the same tenant that uses the most places that no other of it
// does, but for one.
func (u *namespaceUses) heaviestOwner(but types.NamespacedName) (heaviest types.NamespacedName, most int) {
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

func limitProblem(format string, args ...any) *plan.Problem {
	p := tooManyKinds()
	p.Message = fmt.Sprintf(format, args...)
	return p
}

// boundPlaces leaves out of the layout what is beyond the limits of places.
func (l *inputPlanner) boundPlaces() {
	if l.owner == nil {
		return
	}
	l.mu.Lock()
	b := l.policyController.namespaceUses.boundOwner(l.name, l.uses)
	l.mu.Unlock()
	for _, owner := range b.crowded {
		l.controller.enqueue(Key{Policy: l.id, Namespace: owner.Namespace, Name: owner.Name})
	}
	if b.problem == nil {
		return
	}
	l.s.complete, l.s.crowded = false, b.problem.Message
	for place := range b.out {
		delete(l.uses, place)
	}
	l.childQueries = slices.DeleteFunc(l.childQueries, func(s childQuery) bool {
		if s.elsewhere && b.out[s.Namespace] {
			l.s.children[s.Location] = inputSource{problem: b.problem}
			return true
		}
		return false
	})
	for i := range l.watchQueries {
		if w := &l.watchQueries[i]; w.problem == nil && !w.everywhere && b.out[w.need.Key.Namespace] {
			w.problem = b.problem
		}
	}
}

// isCrowded reports whether an owner has to make room for others.
func (op *policyController) isCrowded(name types.NamespacedName) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.namespaceUses.crowded[name]
}
