package plan

import (
	"cmp"
	"slices"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// leftoverAt is the place of entries without a child; its Child is no identifier.
func leftoverAt(e inventory.Entry) Location {
	if e.Merged {
		return Location{Child: e.GVK.String() + ", merged", Namespace: e.Namespace}
	}
	return Location{Child: e.GVK.String(), Namespace: e.Namespace}
}

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
		home, ok := p.home(c.Child)
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
		if p.inventory.waits(e) || !p.matters(e) {
			continue
		}
		w := Query{Location: p.atOf(e), GVK: e.GVK}
		if c := p.spec(w.Child); c != nil {
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

// blockedPlace returns why a place of a child cannot be seen; nil if all can.
func (p *planner) blockedPlace(c *child) *Problem {
	if home, ok := p.home(c.Child); ok {
		if in := p.inputAt(home, c.GVK); in.Blocked != nil {
			return in.Blocked
		}
	}
	for i := range c.instances {
		if it := &c.instances[i]; it.at.Child != "" {
			if in := p.inputAt(it.at, c.GVK); in.Blocked != nil {
				return in.Blocked
			}
		}
	}
	return nil
}
