package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

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
