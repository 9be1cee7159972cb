package engine

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// recorded are the kinds that owners need and their policy does not name: those of what
// their records say was made. The zero value is ready. Safe for concurrent use; what is
// said of an owner is said on its turn.
type recorded struct {
	mu      sync.Mutex // guards what is below
	byOwner map[types.NamespacedName]kindSet
	owners  map[schema.GroupVersionKind]int // how many have it; never 0
}

type kindSet map[schema.GroupVersionKind]bool

// add notes that an owner needs a kind.
func (r *recorded) add(owner types.NamespacedName, gvk schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byOwner[owner][gvk] {
		return
	}
	if r.byOwner == nil {
		r.byOwner, r.owners = map[types.NamespacedName]kindSet{}, map[schema.GroupVersionKind]int{}
	}
	if r.byOwner[owner] == nil {
		r.byOwner[owner] = kindSet{}
	}
	r.byOwner[owner][gvk] = true
	r.owners[gvk]++
}

// retain notes that an owner needs no more than this, and returns the kinds that no owner
// needs any more.
func (r *recorded) retain(owner types.NamespacedName, still func(schema.GroupVersionKind) bool) (gone []schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := r.byOwner[owner]
	for gvk := range kinds {
		if still(gvk) {
			continue
		}
		delete(kinds, gvk)
		if r.owners[gvk]--; r.owners[gvk] == 0 {
			delete(r.owners, gvk)
			gone = append(gone, gvk)
		}
	}
	if len(kinds) == 0 {
		delete(r.byOwner, owner)
	}
	return gone
}

// all are the kinds that some owner needs, in no order.
func (r *recorded) all() []schema.GroupVersionKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.owners))
}

// meet notes that an owner needs a kind. It is called before the kind is looked up: see
// kinds.unwant.
func (op *operator) meet(owner types.NamespacedName, gvk schema.GroupVersionKind) {
	if !op.named[gvk] {
		op.recorded.add(owner, gvk)
	}
}

// kindFor is kindOf for an owner.
func (op *operator) kindFor(owner types.NamespacedName, gvk schema.GroupVersionKind) (kind, *plan.Problem) {
	op.meet(owner, gvk)
	return op.kindOf(gvk)
}

// part has kinds no longer looked up that only this owner needed, and does not any more.
func (op *operator) part(owner types.NamespacedName, still func(schema.GroupVersionKind) bool) {
	op.engine.unwant(op.recorded.retain(owner, still))
}

// partAll is part for an owner that needs nothing.
func (op *operator) partAll(owner types.NamespacedName) {
	op.part(owner, func(schema.GroupVersionKind) bool { return false })
}

// unwant has kinds no longer looked up that no policy, and no owner, needs.
func (e *Engine) unwant(gone []schema.GroupVersionKind) {
	if len(gone) == 0 || !e.kinds.anyWanted() {
		return
	}
	e.kinds.unwant(gone, func() (list []schema.GroupVersionKind) {
		for _, op := range e.versions.everyone() {
			list = append(append(list, op.kinds()...), op.recorded.all()...)
		}
		return list
	})
	e.arrivals.look(false) // perhaps nothing is missing any more
}

// seekKind notes that the pass is about to look up a kind for one object.
func (p *pass) seekKind(gvk schema.GroupVersionKind) {
	p.sought[gvk] = true
	p.meet(p.state.subscriber.name, gvk)
}

// partKinds has kinds no longer looked up that the pass has not needed.
func (p *pass) partKinds() {
	p.part(p.state.subscriber.name, func(gvk schema.GroupVersionKind) bool {
		_, looked := p.state.sources.kinds[gvk]
		return looked || p.sought[gvk]
	})
}
