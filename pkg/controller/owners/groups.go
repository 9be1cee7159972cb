package owners

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// ExactStreams is how many owners a namespace may have before their
// owner-specific watches are relaxed to one shared stream. Each exact stream
// costs the API server 3 to 4 us for each event in the namespace and this
// process a stream and some 40 KiB, so they are for a few owners.
const ExactStreams = 4

// WideSpread is how many namespaces the objects of a policy may be in before they are watched in all
// namespaces together, where that is permitted. A stream of all namespaces has the API server look at more
// objects for its list, and at all changes of the kind; one in each namespace is a stream more each time, with
// some 70 KiB of memory in this process, and reopened every few seconds.
const WideSpread = 4

// Groups are the owners in the cache, by namespace, and whether they share streams there. Its zero
// value is not ready: it is made as Groups{}. Not safe for concurrent use.
type Groups map[string]*group

// group are the owners of one namespace.
type group struct {
	names map[string]struct{}
	// shared is true once there are more than ExactStreams owners, until there are
	// at most half as many: a namespace at the limit does not go to and fro.
	shared bool
}

// AddOwner notes an owner. The result are the namespace's owners, sorted, if the layout of
// their watches has changed with it, else nil.
func (m Groups) AddOwner(namespace, name string) []string {
	g, ok := m[namespace]
	if !ok {
		g = &group{names: map[string]struct{}{}}
		m[namespace] = g
	}
	g.names[name] = struct{}{}
	if g.shared || len(g.names) <= ExactStreams {
		return nil
	}
	g.shared = true
	return g.listNames()
}

// RemoveOwner forgets an owner. The result is as for AddOwner.
func (m Groups) RemoveOwner(namespace, name string) []string {
	g, ok := m[namespace]
	if !ok {
		return nil
	}
	delete(g.names, name)
	if len(g.names) == 0 {
		delete(m, namespace)
		return nil
	}
	if !g.shared || len(g.names) > ExactStreams/2 {
		return nil
	}
	g.shared = false
	return g.listNames()
}

// HasOwners reports whether there is an owner in a namespace.
func (m Groups) HasOwners(namespace string) bool { return m[namespace] != nil }

// IsShared reports whether the owners of a namespace share streams.
func (m Groups) IsShared(namespace string) bool {
	g, ok := m[namespace]
	return ok && g.shared
}

// IsSpread reports whether the owners are in more than a few namespaces; as they were before, between half as
// many and that: they do not go to and fro.
func (m Groups) IsSpread(before bool) bool {
	return len(m) > WideSpread || before && len(m) > WideSpread/2
}

// AllOwners returns all owners, in no order.
func (m Groups) AllOwners() (list []types.NamespacedName) {
	for namespace, g := range m {
		for name := range g.names {
			list = append(list, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return list
}

func (g *group) listNames() []string {
	return slices.Sorted(maps.Keys(g.names))
}
