package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

const (
	// maxOtherKinds is how many kinds a record may have that the program does not have: an
	// earlier revision of the policy had them. A record with more is not believed.
	maxOtherKinds = 64
	// maxOtherPlaces is how many places are looked at together that this program would not
	// have written. The others wait until one of them is found empty. As many more are
	// looked at of those that can only be waited for: they do not hold up the others.
	maxOtherPlaces = 16
)

// believe says why the program, or an earlier revision of it, cannot have written an
// inventory; nil if it can. It brings the kinds of entries to one version each: the
// program's, if it has the kind.
func believe(program *policy.Program, inv Inventory) error {
	versions := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, c := range program.Children {
		versions[c.GVK.GroupKind()] = c.GVK
	}
	known := len(versions)
	for i := range inv.Entries {
		e := &inv.Entries[i]
		kind := e.GVK.GroupKind()
		if _, ok := versions[kind]; !ok {
			versions[kind] = e.GVK
		}
		e.GVK = versions[kind]
	}
	if others := len(versions) - known; others > maxOtherKinds {
		return fmt.Errorf("reading the record of children: it has %d kinds that this policy does not have; Ambit writes at most %d", others, maxOtherKinds)
	}
	return nil
}

// site is a place of a record that costs something to look at.
type site struct {
	kind      schema.GroupKind
	namespace string
	merged    bool
}

func (e Entry) site() site {
	return site{kind: e.GVK.GroupKind(), namespace: e.Namespace, merged: e.Merged}
}

// isOwnSite reports whether the program would record something in a place: a child of the
// kind may be there.
func (p *planner) isOwnSite(s site) bool {
	return slices.ContainsFunc(p.program.Children, func(c *policy.Child) bool {
		switch {
		case c.GVK.GroupKind() != s.kind, (c.Existing == v1alpha1.ExistingMerge) != s.merged:
			return false
		case s.namespace == "" || s.namespace == p.namespace:
			return true
		}
		return c.CrossNamespace && p.isNamedInScope(s.namespace)
	})
}

// isNamedInScope reports whether the policy's scope can have a namespace, as far as the
// names in it say.
func (p *planner) isNamedInScope(namespace string) bool {
	if slices.Contains(p.program.Exclude, namespace) {
		return false
	}
	return len(p.program.Namespaces) == 0 || p.program.NamespaceSelector != nil || slices.Contains(p.program.Namespaces, namespace)
}

// findWaiting finds the entries that wait. An entry in a place that no object is wanted
// in, and that this program would not have written, may be of an earlier revision of the
// policy, or made up: nothing tells before the place is looked at. So a few such places
// are looked at together, in the order in which their objects are removed.
func (p *planner) findWaiting() {
	sites, wanted := map[site]bool{}, map[site]bool{}
	var others []Entry
	for _, e := range p.ledger.old.Entries {
		if !p.matters(e) {
			continue
		}
		s := e.site()
		if w, named := p.names.find(e.ObjectKey()); named && e.Merged == (w.item.tie == merged) {
			wanted[s] = true
		}
		if _, known := sites[s]; !known {
			sites[s] = p.isOwnSite(s)
		}
		if !sites[s] {
			others = append(others, e)
		}
	}
	slices.SortStableFunc(others, func(a, b Entry) int { return -cmp.Compare(a.Rank, b.Rank) })
	p.ledger.waiting = nil
	idle := p.findIdle(others)
	looked := map[site]bool{}
	var busyOnes, idleOnes int
	for _, e := range others {
		s := e.site()
		switch {
		case wanted[s] || looked[s] || p.ledger.waiting[s]:
		case idle[s] && idleOnes < maxOtherPlaces:
			idleOnes++
			looked[s] = true
		case busyOnes < maxOtherPlaces:
			busyOnes++
			looked[s] = true
		default:
			p.ledger.wait(s)
		}
	}
}

// findIdle finds the places of entries in which there is nothing to do but to wait.
func (p *planner) findIdle(entries []Entry) map[site]bool {
	idle := map[site]bool{}
	for _, e := range entries {
		s := e.site()
		before, known := idle[s]
		idle[s] = (before || !known) && p.isIdle(e)
	}
	return idle
}

// isIdle reports whether an entry can only be waited for: its place cannot be seen, or
// what is there is being deleted. What is not listed yet is not idle.
func (p *planner) isIdle(e Entry) bool {
	in := p.inputAt(p.atOf(e), e.GVK)
	switch {
	case in.Blocked != nil:
		return in.Blocked.Reason != v1alpha1.ReasonSyncing
	case e.Merged || e.isPlace():
		return false
	}
	obj := p.indexes.find(in.Objects, e.Namespace, e.Name)
	return obj != nil && isDeleting(obj)
}

// matters reports whether it has to be known what an entry stands for. For an owner that
// goes, not what is left behind, nor what garbage collection takes.
func (p *planner) matters(e Entry) bool {
	return p.retired == "" || !p.isOrphan(e) && (p.removesAll() || !e.isPlace())
}

func (l *ledger) wait(s site) {
	if l.waiting == nil {
		l.waiting = map[site]bool{}
	}
	l.waiting[s] = true
}

// waits reports whether an entry stays as it is for now, because too many others are
// looked at.
func (l *ledger) waits(e Entry) bool { return l.waiting[e.site()] }
