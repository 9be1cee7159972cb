package placepermissions

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
)

// inherited is what an earlier revision of a policy knew of a place.
type inherited struct {
	answer  *permissionset.Set
	handled *permissionset.Set // what was acted upon last
	logged  string             // what was logged to be missing
	// asked is what was asked about all namespaces at first, of which it has turned out that not
	// everything is permitted; nil otherwise.
	asked []access.Access
}

// InheritFrom takes over what an earlier revision of the policy, of the same identity, knew. Nothing was
// asked of this one yet.
func (t *Tracker) InheritFrom(before *Tracker) {
	narrow := before.knownNarrow()
	before.mu.Lock()
	known := maps.Clone(before.inherited)
	if known == nil {
		known = make(map[string]inherited, len(before.requests))
	}
	for place, a := range before.requests {
		known[place] = inherited{answer: a.lastAnswer(), handled: a.handled, logged: a.logged}
	}
	before.mu.Unlock()
	if everywhere, ok := known[allNamespaces]; ok && narrow != nil {
		everywhere.asked = narrow
		known[allNamespaces] = everywhere
	}
	t.mu.Lock()
	t.inherited = known
	t.mu.Unlock()
}

// ForgetInherited forgets what earlier revisions knew: this one has asked for all that it needs.
func (t *Tracker) ForgetInherited() {
	t.mu.Lock()
	t.inherited = nil
	t.mu.Unlock()
}

// knownNarrow is what was asked about all namespaces at first, if that has turned out not to be
// permitted; else nil.
func (t *Tracker) knownNarrow() []access.Access {
	t.mu.Lock()
	a, asked := t.requests[allNamespaces]
	whole := asked && a.scope == Everything
	before := t.inherited[allNamespaces].asked
	t.mu.Unlock()
	switch {
	case !asked:
		return before
	case whole:
		return nil
	}
	return t.everythingAsked()
}

// everythingAsked is what is asked about all namespaces at first.
func (t *Tracker) everythingAsked() []access.Access {
	needs, _ := t.options.Needs()
	list, _ := t.accessesAt(needs, allNamespaces, Everything, nil)
	return list
}

// IsKnownNarrow reports whether an earlier revision has found that not everything is permitted in all
// namespaces, of the same that this one would ask.
func (t *Tracker) IsKnownNarrow() bool {
	t.mu.Lock()
	before := t.inherited[allNamespaces].asked
	t.mu.Unlock()
	return before != nil && slices.Equal(before, t.everythingAsked())
}

// WasDenied reports whether an earlier revision found that a resource may not be watched in all
// namespaces together, as long as this one has not asked for that.
func (t *Tracker) WasDenied(resource schema.GroupResource) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, mine := t.inherited[allNamespaces].answer, t.requests[allNamespaces]
	if before == nil || before.MayWatch(resource) {
		return false
	}
	return mine == nil || !slices.Contains(mine.accesses, access.Access{Verb: "list", Group: resource.Group, Resource: resource.Resource})
}
