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

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
)

// How many kinds that are not known are looked up because records name them: of one owner,
// of all owners in one namespace, and of all owners of a policy. A record is as its owner's
// author wants it to be.
const (
	OwnerLimit  = 16
	tenantLimit = 24
	PolicyLimit = 64
)

// Index has the kinds that owners of one policy need and the policy does not name. The zero value is
// ready. Safe for concurrent use; what is said of one owner is said by one goroutine at a time.
type Index struct {
	mu      sync.Mutex // guards what is below
	byOwner map[types.NamespacedName]kindSet
	owners  map[schema.GroupVersionKind]int // how many have it; never 0
	// searched are those that wait for the first answer of the API server, by owner: no more
	// than the limits allow.
	searched map[types.NamespacedName]kindSet
}

type kindSet map[schema.GroupVersionKind]bool

// AddKind notes that an owner needs a kind. It returns false if the kind has to be looked up,
// and that would be more than the owner, or the policy, may have looked up at a time. Of
// the policy's share the tenant that has the most makes room for one that has less: gone is
// what nobody needs any more then. answered reports of a kind whether it is known how it is
// served, or that it is not; no lock is held while it is called.
func (r *Index) AddKind(owner types.NamespacedName, gvk schema.GroupVersionKind, answered func(schema.GroupVersionKind) bool) (gone []schema.GroupVersionKind, ok bool) {
	if r.hasKind(owner, gvk) {
		return nil, true
	}
	found := kindSet{}
	for _, kind := range append(r.searchedKinds(), gvk) {
		found[kind] = answered(kind)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byOwner == nil {
		r.byOwner, r.owners, r.searched = map[types.NamespacedName]kindSet{}, map[schema.GroupVersionKind]int{}, map[types.NamespacedName]kindSet{}
	}
	if !found[gvk] {
		r.endSearchesLocked(found)
		if gone, ok = r.roomLocked(owner); !ok {
			return nil, false
		}
		addToSet(r.searched, owner, gvk)
	}
	addToSet(r.byOwner, owner, gvk)
	r.owners[gvk]++
	return gone, true
}

// hasKind reports whether it is noted that an owner needs a kind.
func (r *Index) hasKind(owner types.NamespacedName, gvk schema.GroupVersionKind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byOwner[owner][gvk]
}

// searchedKinds are the kinds that wait for their first answer, in no order, some more than once.
func (r *Index) searchedKinds() (list []schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kinds := range r.searched {
		list = slices.AppendSeq(list, maps.Keys(kinds))
	}
	return list
}

func addToSet(sets map[types.NamespacedName]kindSet, owner types.NamespacedName, gvk schema.GroupVersionKind) {
	if sets[owner] == nil {
		sets[owner] = kindSet{}
	}
	sets[owner][gvk] = true
}

// roomLocked reports whether one more kind may be looked up for an owner. The caller holds mu.
func (r *Index) roomLocked(owner types.NamespacedName) (gone []schema.GroupVersionKind, ok bool) {
	mine := len(r.searched[owner])
	if mine >= OwnerLimit {
		return nil, false
	}
	tenant := placeuses.TenantOf(owner)
	near, most := r.searchesLocked(func(other types.NamespacedName) bool { return placeuses.TenantOf(other) == tenant }, owner)
	if all, busiest := r.busiestLocked(); near < tenantLimit {
		if all < PolicyLimit {
			return nil, true
		}
		if count, heaviest := r.searchesLocked(func(other types.NamespacedName) bool { return placeuses.TenantOf(other) == busiest }, types.NamespacedName{}); count > near+1 {
			return r.dropLastLocked(heaviest), true
		}
	}
	if len(r.searched[most]) <= mine+1 {
		return nil, false
	}
	return r.dropLastLocked(most), true
}

// busiestLocked counts all searches, and says which tenant has the most; of several, the first
// by name. The caller holds mu.
func (r *Index) busiestLocked() (all int, busiest string) {
	counts := map[string]int{}
	for owner, kinds := range r.searched {
		tenant := placeuses.TenantOf(owner)
		counts[tenant] += len(kinds)
		all += len(kinds)
	}
	for tenant, n := range counts {
		if n > counts[busiest] || n == counts[busiest] && tenant < busiest {
			busiest = tenant
		}
	}
	return all, busiest
}

// dropLastLocked ends one search of an owner. The caller holds mu.
func (r *Index) dropLastLocked(owner types.NamespacedName) (gone []schema.GroupVersionKind) {
	last := slices.MaxFunc(slices.Collect(maps.Keys(r.searched[owner])), compareKinds)
	return r.dropLocked(owner, last)
}

// searchesLocked counts the searches of several owners, and says who of them has the most; at
// equal numbers, owner. The caller holds mu.
func (r *Index) searchesLocked(has func(types.NamespacedName) bool, owner types.NamespacedName) (all int, most types.NamespacedName) {
	most = owner
	for other, kinds := range r.searched {
		if !has(other) {
			continue
		}
		if all += len(kinds); len(kinds) > len(r.searched[most]) {
			most = other
		}
	}
	return all, most
}

// dropLocked notes that an owner does not need a kind any more, and returns it if nobody
// does. The caller holds mu.
func (r *Index) dropLocked(owner types.NamespacedName, gvk schema.GroupVersionKind) (gone []schema.GroupVersionKind) {
	r.stopSearchLocked(owner, gvk)
	delete(r.byOwner[owner], gvk)
	if r.owners[gvk]--; r.owners[gvk] == 0 {
		delete(r.owners, gvk)
		gone = append(gone, gvk)
	}
	if len(r.byOwner[owner]) == 0 {
		delete(r.byOwner, owner)
	}
	return gone
}

// endSearchesLocked makes room for others where there is an answer. The caller holds mu.
func (r *Index) endSearchesLocked(answered kindSet) {
	for owner, kinds := range r.searched {
		for gvk := range kinds {
			if answered[gvk] {
				r.stopSearchLocked(owner, gvk)
			}
		}
	}
}

func (r *Index) stopSearchLocked(owner types.NamespacedName, gvk schema.GroupVersionKind) {
	if delete(r.searched[owner], gvk); len(r.searched[owner]) == 0 {
		delete(r.searched, owner)
	}
}

// RetainKinds notes that an owner needs no more kinds than those of which still returns true, and
// returns those that no owner needs any more. It holds a lock while it calls still.
func (r *Index) RetainKinds(owner types.NamespacedName, still func(schema.GroupVersionKind) bool) (gone []schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gvk := range r.byOwner[owner] {
		if !still(gvk) {
			gone = append(gone, r.dropLocked(owner, gvk)...)
		}
	}
	return gone
}

// OwnersOf returns the owners that need one of these kinds, in any version, in no order.
func (r *Index) OwnersOf(news map[schema.GroupKind]bool) (owners []types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for owner, kinds := range r.byOwner {
		for gvk := range kinds {
			if news[gvk.GroupKind()] {
				owners = append(owners, owner)
				break
			}
		}
	}
	return owners
}

// AllKinds returns the kinds that some owner needs, each once, in no order.
func (r *Index) AllKinds() []schema.GroupVersionKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.owners))
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }
