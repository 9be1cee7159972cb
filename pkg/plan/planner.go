package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/timing"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/problems"
	"github.com/ambit-dev/ambit/pkg/plan/prune"
)

// planner holds what is known while one plan is made.
type planner struct {
	subject
	scope bindings.Scope
	// clock is what expressions ask the time of; nil where they cannot.
	clock *timing.Clock
	// watchProblems says why a watch has nothing to show, by its index in the program.
	watchProblems []*Problem
	children      []child
	names         wantedNames
	indexes       objectmeta.Indexes
	rendered      renderedSize
	// ready is what ready(...) reads, by child id.
	ready   map[string]bool
	actions []Action
	// deletions are what the pruner removes.
	deletions []Action
	graph     *prune.Graph
	// retired says why nothing of the owner is wanted any more; empty if it is.
	retired string
	// looks: children are only looked at, for protect. Nothing will be made, so that no child waits until
	// another one is ready.
	looks bool
	// expected are objects that stay without a word while it is not known what is wanted: those of children
	// that wait, and those of which it was said.
	expected objectSet
	// suspended says why pruning is; empty if it is not.
	suspended     prune.Suspension
	blockers      problems.Set
	queries       []Query
	ownerMetadata *OwnerMetadata
	// former is Plan.Former.
	former []schema.GroupVersionKind
}

// blockedPlace returns why a place of a child cannot be seen; nil if all can.
func (p *planner) blockedPlace(c *child) *Problem {
	if home, ok := p.homePlace(c.Child); ok {
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

func (p *planner) findChild(id string) *child {
	for i := range p.children {
		if p.children[i].ID == id {
			return &p.children[i]
		}
	}
	return nil
}

func keyOfObject(kind schema.GroupVersionKind, obj *unstructured.Unstructured) inventory.ObjectKey {
	return inventory.ObjectKey{Kind: kind.GroupKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// few is up to how many things are looked through one by one; more are indexed.
const few = 8

// wanted is an object that a child wants.
type wanted struct {
	key      inventory.ObjectKey
	child    *child
	instance *instance
}

// wantedNames finds the wanted objects by name.
type wantedNames struct {
	list  []wanted
	index map[inventory.ObjectKey]int
}

func (n *wantedNames) findWanted(key inventory.ObjectKey) (wanted, bool) {
	if n.index != nil {
		i, ok := n.index[key]
		if !ok {
			return wanted{}, false
		}
		return n.list[i], true
	}
	for _, w := range n.list {
		if w.key == key {
			return w, true
		}
	}
	return wanted{}, false
}

// addWanted notes a name that is not there yet.
func (n *wantedNames) addWanted(w wanted) {
	n.list = append(n.list, w)
	switch {
	case n.index != nil:
		n.index[w.key] = len(n.list) - 1
	case len(n.list) > few:
		n.index = make(map[inventory.ObjectKey]int, 4*few)
		for i, w := range n.list {
			n.index[w.key] = i
		}
	}
}
