package scopedcache

import (
	"cmp"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owner is an object that is reconciled.
type Owner struct {
	// Kind tells owners of several controllers apart. It may be empty.
	Kind schema.GroupKind
	types.NamespacedName
}

func compareOwners(a, b Owner) int {
	return cmp.Or(
		cmp.Compare(a.Kind.String(), b.Kind.String()),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}

var errClosed = errors.New("its handle is closed")

// Handle reads for one owner. What is read through it is watched as long as it is open: the kind, in the
// namespace that was read or in all of them, and Source enqueues the owner when something of it has changed. Handles
// share streams, with each other and with the cache; the last one that needs a stream ends it. It is safe for
// concurrent use.
type Handle struct {
	engine *engine
	owner  Owner
	closed bool // guarded by the engine's mu
}

var _ client.Reader = &Handle{}

// Close gives back all that the handle needs. Reads fail afterwards. It may be called more than once.
func (h *Handle) Close() {
	e := h.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	h.closed = true
	if e.handles[h.owner] == h {
		delete(e.handles, h.owner)
	}
	for _, k := range e.kinds {
		if _, ok := k.needs[h]; ok {
			e.releaseLocked(h, k)
		}
	}
}

// handleFor returns the open handle of an owner, or opens one.
func (e *engine) handleFor(owner Owner) *Handle {
	e.mu.Lock()
	defer e.mu.Unlock()
	h, ok := e.handles[owner]
	if !ok {
		h = &Handle{engine: e, owner: owner}
		e.handles[owner] = h
	}
	return h
}
