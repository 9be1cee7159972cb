package sim

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Clone makes a server that has what this one has: objects with their uids, the history of
// changes, and rights. Nobody is connected to it. It shares with this one what never
// changes, objects among them, so it costs little; make one for each of many runs. Options
// are those of New.
func (s *Server) Clone(o Options) *Server {
	clone := prepare(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	clone.version, clone.mappings = s.version, s.mappings
	clone.resources = make(map[schema.GroupResource]*resource, len(s.resources))
	for gr, r := range s.resources {
		clone.resources[gr] = r.clone()
	}
	clone.authorizer = s.authorizer.clone(o)
	clone.wake()
	return clone
}

// clone is the resource without its watches.
func (r *resource) clone() *resource {
	clone := *r
	clone.objects, clone.history, clone.watchers = maps.Clone(r.objects), slices.Clip(r.history), map[*watcher]bool{}
	clone.managed = maps.Clone(r.managed)
	return &clone
}

// clone is an authorizer that has seen as much.
func (a *authorizer) clone(o Options) *authorizer {
	return &authorizer{
		lag: o.AuthorizerLag, unread: slices.Clip(a.unread), roles: maps.Clone(a.roles), bindings: maps.Clone(a.bindings), decided: map[place]rules{},
	}
}
