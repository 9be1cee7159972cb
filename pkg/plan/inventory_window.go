package plan

import (
	"cmp"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// maxOtherPlaces is how many places are looked at together that this program would not
// have written. The others wait until one of them is found empty. As many more are
// looked at of those that can only be waited for: they do not hold up the others.
const maxOtherPlaces = 16

// isOwnSite reports whether the program would record something in a place: a child of the
// kind may be there.
func (s *subject) isOwnSite(site inventorySite) bool {
	return slices.ContainsFunc(s.program.Children, func(c *policy.Child) bool {
		switch {
		case c.GVK.GroupKind() != site.kind, (c.Existing == v1alpha1.ExistingMerge) != site.merged:
			return false
		case site.namespace == "" || site.namespace == s.namespace:
			return true
		}
		return c.CrossNamespace && s.program.MayHaveNamespace(site.namespace)
	})
}

// findWaiting finds the entries that wait. An entry in a place that no object is wanted
// in, and that this program would not have written, may be of an earlier revision of the
// policy, or made up: nothing tells before the place is looked at. So a few such places
// are looked at together, in the order in which their objects are removed.
func (p *queryPlanner) findWaiting() {
	sites, wanted := map[inventorySite]bool{}, map[inventorySite]bool{}
	var others []inventory.Entry
	for _, e := range p.inventory.Entries {
		if !p.matters(e) {
			continue
		}
		s := siteOf(e)
		if w, named := p.names.find(e.ObjectKey()); named && e.Merged == (w.item.ownership == mergedInto) {
			wanted[s] = true
		}
		if _, known := sites[s]; !known {
			sites[s] = p.isOwnSite(s)
		}
		if !sites[s] {
			others = append(others, e)
		}
	}
	slices.SortStableFunc(others, func(a, b inventory.Entry) int { return -cmp.Compare(a.Rank, b.Rank) })
	p.inventory.waiting = nil
	idle := p.findIdle(others)
	looked := map[inventorySite]bool{}
	var busyOnes, idleOnes int
	for _, e := range others {
		s := siteOf(e)
		switch {
		case wanted[s] || looked[s] || p.inventory.waiting[s]:
		case idle[s] && idleOnes < maxOtherPlaces:
			idleOnes++
			looked[s] = true
		case busyOnes < maxOtherPlaces:
			busyOnes++
			looked[s] = true
		default:
			p.inventory.wait(s)
		}
	}
}

// findIdle finds the places of entries in which there is nothing to do but to wait.
func (p *queryPlanner) findIdle(entries []inventory.Entry) map[inventorySite]bool {
	idle := map[inventorySite]bool{}
	for _, e := range entries {
		s := siteOf(e)
		before, known := idle[s]
		idle[s] = (before || !known) && p.isIdle(e)
	}
	return idle
}

// isIdle reports whether an entry can only be waited for: its place cannot be seen, or
// what is there is being deleted. What is not listed yet is not idle.
func (p *queryPlanner) isIdle(e inventory.Entry) bool {
	in := p.inputAt(p.atOf(e), e.GVK)
	switch {
	case in.Blocked != nil:
		return in.Blocked.Reason != v1alpha1.ReasonSyncing
	case e.Merged || e.IsPlace():
		return false
	}
	obj := p.indexes.find(in.Objects, e.Namespace, e.Name)
	return obj != nil && isDeleting(obj)
}

// matters reports whether it has to be known what an entry stands for. For an owner that
// goes, not what is left behind, nor what garbage collection takes.
func (p *planner) matters(e inventory.Entry) bool {
	return p.retired == "" || !p.isOrphan(e) && (p.removesAll() || !e.IsPlace())
}
