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

// objectIndexes finds observed objects by namespace and name. Inputs that share their
// objects share the index.
type objectIndexes map[**unstructured.Unstructured]objectIndex

type objectIndex struct {
	size        int
	byName      map[[2]string]*unstructured.Unstructured
	byNamespace map[string][]*unstructured.Unstructured
}

func (x *objectIndexes) indexOf(objects []*unstructured.Unstructured) objectIndex {
	key := &objects[0]
	if found, ok := (*x)[key]; ok && found.size == len(objects) {
		return found
	}
	if *x == nil {
		*x = objectIndexes{}
	}
	made := objectIndex{
		size:        len(objects),
		byName:      make(map[[2]string]*unstructured.Unstructured, len(objects)),
		byNamespace: map[string][]*unstructured.Unstructured{},
	}
	for _, obj := range objects {
		name := [2]string{obj.GetNamespace(), obj.GetName()}
		if _, again := made.byName[name]; !again {
			made.byName[name] = obj
		}
		made.byNamespace[name[0]] = append(made.byNamespace[name[0]], obj)
	}
	(*x)[key] = made
	return made
}

// findObject returns the observed object of a name; nil if there is none.
func (x *objectIndexes) findObject(objects []*unstructured.Unstructured, namespace, name string) *unstructured.Unstructured {
	if len(objects) > few {
		return x.indexOf(objects).byName[[2]string{namespace, name}]
	}
	for _, obj := range objects {
		if obj.GetName() == name && obj.GetNamespace() == namespace {
			return obj
		}
	}
	return nil
}

// objectsIn returns the observed objects of a namespace, and perhaps others.
func (x *objectIndexes) objectsIn(objects []*unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	if len(objects) > few {
		return x.indexOf(objects).byNamespace[namespace]
	}
	return objects
}
