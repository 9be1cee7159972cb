package scopedcache

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// Change says that a stream has another state. It is a copy, but for Missing, which nobody may change.
type Change struct {
	GVK schema.GroupVersionKind
	// Namespace is where; "" is all namespaces, or a kind without any.
	Namespace string
	// State is informer.Live once objects can be read, informer.Degraded while they may be stale, Forbidden,
	// Unauthenticated, Missing or Invalid when the API server has refused and they are dropped, and
	// Stopped when the namespace is not watched any more.
	State informer.State
	// Missing is what is denied; nil if nothing is.
	Missing []access.Access
	// Since is when a refusal was first seen.
	Since time.Time
	// Owners are those whose handles need the stream, sorted.
	Owners []Owner
}

// IsLost reports whether there is nothing to read.
func (c Change) IsLost() bool { return c.State.IsFinal() || c.State == informer.Stopped }

// changesLocked returns what has changed in the streams of a kind since the last call.
func (e *engine) changesLocked(k *kind) (list []Change) {
	current := map[string]informer.State{}
	k.mu.RLock()
	defer k.mu.RUnlock()
	for namespace, s := range k.streams {
		current[namespace] = s.stateLocked()
	}
	for _, namespace := range slices.Sorted(maps.Keys(k.told)) {
		if _, ok := current[namespace]; !ok {
			delete(k.told, namespace)
			list = append(list, Change{GVK: k.key.GVK, Namespace: namespace, State: informer.Stopped, Owners: k.ownersOf(namespace)})
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(current)) {
		state := current[namespace]
		if state == informer.Starting || state == k.told[namespace] {
			continue
		}
		k.told[namespace] = state
		c := Change{GVK: k.key.GVK, Namespace: namespace, State: state, Owners: k.ownersOf(namespace)}
		if r := k.streams[namespace].refusal; r != nil {
			c.Missing, c.Since = r.missing, r.since
		}
		list = append(list, c)
	}
	return list
}

// ownersOf returns the owners whose handles need a namespace; the engine's mu is held.
func (k *kind) ownersOf(namespace string) (list []Owner) {
	for h, n := range k.needs {
		if h != nil && h.owner != (Owner{}) && (namespace == "" || n.covers(namespace)) {
			list = append(list, h.owner)
		}
	}
	slices.SortFunc(list, compareOwners)
	return list
}
