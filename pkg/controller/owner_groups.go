package controller

// exactStreams is how many owners a namespace may have before their
// owner-specific watches are relaxed to one shared stream. Each exact stream
// costs the API server 3 to 4 us for each event in the namespace and this
// process a stream and some 40 KiB, so they are for a few owners.
const exactStreams = 4

// ownerGroups are the owners in the cache, by namespace. Not safe for concurrent
// use.
type ownerGroups map[string]*ownerGroup

// ownerGroup are the owners of one namespace.
type ownerGroup struct {
	names map[string]struct{}
	// shared is true once there are more than exactStreams owners, until there are
	// at most half as many: a namespace at the limit does not go to and fro.
	shared bool
}

// addOwner notes an owner. The result are the namespace's owners if the layout of
// their watches has changed with it, else nil.
func (m ownerGroups) addOwner(namespace, name string) []string {
	g, ok := m[namespace]
	if !ok {
		g = &ownerGroup{names: map[string]struct{}{}}
		m[namespace] = g
	}
	g.names[name] = struct{}{}
	if g.shared || len(g.names) <= exactStreams {
		return nil
	}
	g.shared = true
	return g.listNames()
}

// removeOwner forgets an owner. The result is as for add.
func (m ownerGroups) removeOwner(namespace, name string) []string {
	g, ok := m[namespace]
	if !ok {
		return nil
	}
	delete(g.names, name)
	if len(g.names) == 0 {
		delete(m, namespace)
		return nil
	}
	if !g.shared || len(g.names) > exactStreams/2 {
		return nil
	}
	g.shared = false
	return g.listNames()
}

func (m ownerGroups) isShared(namespace string) bool {
	g, ok := m[namespace]
	return ok && g.shared
}

func (g *ownerGroup) listNames() []string {
	return sortedKeys(g.names)
}
