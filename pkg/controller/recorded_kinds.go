package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// How many kinds that are not known are looked up because records name them: of one owner,
// of all owners in one namespace, and of all owners of a policy. A record is as its owner's
// author wants it to be.
const (
	ownerRecordKinds  = 16
	tenantRecordKinds = 24
	policyRecordKinds = 64
)

// recordedKinds are the kinds that owners need and their policy does not name: those of what
// their records say was made. The zero value is ready. Safe for concurrent use; what is
// said of an owner is said on its turn.
type recordedKinds struct {
	mu      sync.Mutex // guards what is below
	byOwner map[types.NamespacedName]kindSet
	owners  map[schema.GroupVersionKind]int // how many have it; never 0
	// searched are those that wait for the first answer of the API server, by owner: no more
	// than the limits allow.
	searched map[types.NamespacedName]kindSet
}

type kindSet map[schema.GroupVersionKind]bool

// addKind notes that an owner needs a kind. It returns false if the kind has to be looked up,
// and that would be more than the owner, or the policy, may have looked up at a time. Of
// the policy's share the tenant that has the most makes room for one that has less: gone is
// what nobody needs any more then. answered reports of a kind whether it is known how it is
// served. It is called without mu.
func (r *recordedKinds) addKind(owner types.NamespacedName, gvk schema.GroupVersionKind, answered func(schema.GroupVersionKind) bool) (gone []schema.GroupVersionKind, ok bool) {
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
func (r *recordedKinds) hasKind(owner types.NamespacedName, gvk schema.GroupVersionKind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byOwner[owner][gvk]
}

// searchedKinds are the kinds that wait for their first answer, in no order, some more than once.
func (r *recordedKinds) searchedKinds() (list []schema.GroupVersionKind) {
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
func (r *recordedKinds) roomLocked(owner types.NamespacedName) (gone []schema.GroupVersionKind, ok bool) {
	mine := len(r.searched[owner])
	if mine >= ownerRecordKinds {
		return nil, false
	}
	tenant := tenantOf(owner)
	near, most := r.searchesLocked(func(other types.NamespacedName) bool { return tenantOf(other) == tenant }, owner)
	if all, busiest := r.busiestLocked(); near < tenantRecordKinds {
		if all < policyRecordKinds {
			return nil, true
		}
		if count, heaviest := r.searchesLocked(func(other types.NamespacedName) bool { return tenantOf(other) == busiest }, types.NamespacedName{}); count > near+1 {
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
func (r *recordedKinds) busiestLocked() (all int, busiest string) {
	counts := map[string]int{}
	for owner, kinds := range r.searched {
		tenant := tenantOf(owner)
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
func (r *recordedKinds) dropLastLocked(owner types.NamespacedName) (gone []schema.GroupVersionKind) {
	last := slices.MaxFunc(slices.Collect(maps.Keys(r.searched[owner])), compareKinds)
	return r.dropLocked(owner, last)
}

// searchesLocked counts the searches of several owners, and says who of them has the most; at
// equal numbers, owner. The caller holds mu.
func (r *recordedKinds) searchesLocked(has func(types.NamespacedName) bool, owner types.NamespacedName) (all int, most types.NamespacedName) {
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
func (r *recordedKinds) dropLocked(owner types.NamespacedName, gvk schema.GroupVersionKind) (gone []schema.GroupVersionKind) {
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
func (r *recordedKinds) endSearchesLocked(answered kindSet) {
	for owner, kinds := range r.searched {
		for gvk := range kinds {
			if answered[gvk] {
				r.stopSearchLocked(owner, gvk)
			}
		}
	}
}

func (r *recordedKinds) stopSearchLocked(owner types.NamespacedName, gvk schema.GroupVersionKind) {
	if delete(r.searched[owner], gvk); len(r.searched[owner]) == 0 {
		delete(r.searched, owner)
	}
}

// retainKinds notes that an owner needs no more than this, and returns the kinds that no owner
// needs any more.
func (r *recordedKinds) retainKinds(owner types.NamespacedName, still func(schema.GroupVersionKind) bool) (gone []schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gvk := range r.byOwner[owner] {
		if !still(gvk) {
			gone = append(gone, r.dropLocked(owner, gvk)...)
		}
	}
	return gone
}

// ownersOf are the owners that need one of these kinds, in no order.
func (r *recordedKinds) ownersOf(news map[schema.GroupKind]bool) (owners []types.NamespacedName) {
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

// allKinds are the kinds that some owner needs, in no order.
func (r *recordedKinds) allKinds() []schema.GroupVersionKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.owners))
}

// retainKind notes that an owner needs a kind. It is called before the kind is looked up: see
// package discovery. It returns false if the kind is not to be looked up for now.
func (op *policyController) retainKind(owner types.NamespacedName, gvk schema.GroupVersionKind) bool {
	if op.namedKinds[gvk] {
		return true
	}
	gone, ok := op.recordedKinds.addKind(owner, gvk, op.controller.isAnswered)
	op.controller.releaseKinds(gone)
	return ok
}

// kindFor is kindOf for an owner.
func (op *policyController) kindFor(owner types.NamespacedName, gvk schema.GroupVersionKind) (discovery.Resource, *plan.Problem) {
	if !op.retainKind(owner, gvk) {
		return discovery.Resource{}, tooManyKinds()
	}
	return op.resolveKind(gvk)
}

// tooManyKinds is the problem of an owner whose record names more unknown kinds than are
// looked up at a time.
func tooManyKinds() *plan.Problem {
	return &plan.Problem{Reason: v1alpha1.ReasonLimitExceeded, Terminal: true, Message: fmt.Sprintf(
		"the annotation %s names more kinds that the policy does not have than are looked up at a time: %d for an owner, %d for the policy; the rest waits until there is an answer",
		v1alpha1.AnnotationChildren, ownerRecordKinds, policyRecordKinds)}
}

// releaseKinds has kinds no longer looked up that only this owner needed, and does not any more.
func (op *policyController) releaseKinds(owner types.NamespacedName, still func(schema.GroupVersionKind) bool) {
	op.controller.releaseKinds(op.recordedKinds.retainKinds(owner, still))
}

// releaseAllKinds is releaseKinds for an owner that needs nothing.
func (op *policyController) releaseAllKinds(owner types.NamespacedName) {
	op.releaseKinds(owner, func(schema.GroupVersionKind) bool { return false })
}

// releaseKinds has kinds no longer looked up that no policy, and no owner, needs.
func (e *Controller) releaseKinds(gone []schema.GroupVersionKind) {
	ended := e.discovery.ReleaseUnneeded(gone, func() (list []schema.GroupVersionKind) {
		for _, op := range e.revisions.allRevisions() {
			list = append(append(list, op.kindsOf()...), op.recordedKinds.allKinds()...)
		}
		return list
	})
	if ended {
		e.crdWatcher.checkSoon(false) // perhaps nothing is missing any more
	}
}

// isAnswered reports whether it is known how a kind is served, or that it is not.
func (e *Controller) isAnswered(gvk schema.GroupVersionKind) bool {
	_, known, err := e.discovery.LookupKnown(gvk)
	return known || discovery.IsUnserved(err)
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }

// seekKind notes that the reconcile is about to look up a kind for one object. It returns false
// if that is not to be for now.
func (p *ownerReconciler) seekKind(gvk schema.GroupVersionKind) bool {
	p.soughtKinds[gvk] = true
	return p.retainKind(p.state.subscriber.name, gvk)
}

// releaseUnusedKinds has kinds no longer looked up that the reconcile has not needed.
func (p *ownerReconciler) releaseUnusedKinds() {
	p.releaseKinds(p.state.subscriber.name, func(gvk schema.GroupVersionKind) bool {
		_, looked := p.state.inputs.kinds[gvk]
		return looked || p.soughtKinds[gvk]
	})
}
