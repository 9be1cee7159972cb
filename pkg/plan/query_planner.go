package plan

import (
	"cmp"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
)

// queryPlanner finds the places to observe: those of children, and those that the inventory
// and former kinds lead to.
type queryPlanner struct{ *planner }

// listQueries lists the places to observe.
func (p *planner) listQueries() { (&queryPlanner{planner: p}).listPlaces() }

// listPlaces lists the places to observe.
func (p *queryPlanner) listPlaces() {
	p.queries = make([]Query, 0, len(p.children)+len(p.inventory.Entries))
	for i := range p.children {
		c := &p.children[i]
		home, ok := p.homePlace(c.Child)
		if ok {
			p.queries = append(p.queries, Query{Location: home, GVK: c.GVK})
		}
		for k := range c.instances {
			if it := &c.instances[k]; it.at.Child != "" && (!ok || it.at != home) {
				p.addInstance(c, it)
			}
		}
	}
	p.addEntries()
	p.addFormerKinds()
	p.sortQueries()
}

func (p *queryPlanner) addInstance(c *child, it *instance) {
	w := Query{Location: it.at, GVK: c.GVK}
	if it.ownership == mergedInto {
		w.Names = []string{it.state.Name}
	}
	p.queries = append(p.queries, w)
}

func (p *queryPlanner) addEntries() {
	p.findWaiting()
	for _, e := range p.inventory.Entries {
		if p.inventory.IsWaiting(e) || !p.isRelevant(e) {
			continue
		}
		w := Query{Location: p.locationOf(e), GVK: e.GVK}
		if c := p.findSpec(w.Child); c != nil {
			w.GVK = c.GVK
		}
		if e.Merged {
			w.Names = []string{e.Name}
		}
		p.queries = append(p.queries, w)
	}
}

// sortQueries sorts, and joins the names of a place.
func (p *queryPlanner) sortQueries() {
	slices.SortFunc(p.queries, func(a, b Query) int {
		return cmp.Or(cmp.Compare(a.Child, b.Child), cmp.Compare(a.Namespace, b.Namespace), slices.Compare(a.Names, b.Names))
	})
	joined := p.queries[:0]
	for _, w := range p.queries {
		if n := len(joined); n == 0 || joined[n-1].Location != w.Location {
			joined = append(joined, w)
			continue
		}
		last := &joined[len(joined)-1]
		if len(w.Names) > 0 && last.Names[len(last.Names)-1] != w.Names[0] {
			last.Names = append(last.Names, w.Names...)
		}
	}
	p.queries = joined
}

// findWaiting finds the entries that wait: what this program would not have written is looked at
// a few sites at a time (inventory.Update.ChooseWaiting).
func (p *queryPlanner) findWaiting() {
	own, wanted := map[inventory.Site]bool{}, map[inventory.Site]bool{}
	var others []inventory.Entry
	for _, e := range p.inventory.Entries {
		if !p.isRelevant(e) {
			continue
		}
		s := inventory.SiteOf(e)
		if w, named := p.names.findWanted(e.ObjectKey()); named && e.Merged == (w.instance.ownership == mergedInto) {
			wanted[s] = true
		}
		if _, known := own[s]; !known {
			own[s] = p.isOwnSite(s)
		}
		if !own[s] {
			others = append(others, e)
		}
	}
	p.inventory.ChooseWaiting(others, wanted, p.isIdle)
}

// isIdle reports whether an entry can only be waited for: its place cannot be seen, or
// what is there is being deleted. What is not listed yet is not idle.
func (p *queryPlanner) isIdle(e inventory.Entry) bool {
	in := p.inputAt(p.locationOf(e), e.GVK)
	switch {
	case in.Blocked != nil:
		return in.Blocked.Reason != v1alpha1.ReasonSyncing
	case e.Merged || e.IsPlace():
		return false
	}
	obj := p.indexes.FindObject(in.Objects, e.Namespace, e.Name)
	return obj != nil && objectmeta.IsDeleting(obj)
}

// isRelevant reports whether it has to be known what an entry stands for. For an owner that
// goes, not what is left behind, nor what garbage collection takes.
func (p *planner) isRelevant(e inventory.Entry) bool {
	return p.retired == "" || p.looks || !p.isOrphan(e) && (p.removesAll() || !e.IsPlace())
}
