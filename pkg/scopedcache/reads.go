package scopedcache

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reads is what the handles of owners have read of a kind: a change of that is told to the owners. The kind's mu
// guards it. The zero reads are none.
type reads struct {
	byName map[types.NamespacedName]map[*Handle]struct{}
	lists  map[*Handle][]listRead
}

// listRead is a list that was read.
type listRead struct {
	namespace string // "" is all
	selector  string // of labels, as text; "" is all
	matches   func(labels.Labels) bool
}

// addName records that one object was read.
func (r *reads) addName(h *Handle, name types.NamespacedName) {
	if r.byName == nil {
		r.byName = map[types.NamespacedName]map[*Handle]struct{}{}
	}
	if r.byName[name] == nil {
		r.byName[name] = map[*Handle]struct{}{}
	}
	r.byName[name][h] = struct{}{}
}

// addList records that a list was read. Fields are not looked at.
func (r *reads) addList(h *Handle, given client.ListOptions) {
	one := listRead{namespace: given.Namespace, matches: func(labels.Labels) bool { return true }}
	if given.LabelSelector != nil {
		one.selector, one.matches = given.LabelSelector.String(), given.LabelSelector.Matches
	}
	if slices.ContainsFunc(r.lists[h], func(o listRead) bool { return o.namespace == one.namespace && o.selector == one.selector }) {
		return
	}
	if r.lists == nil {
		r.lists = map[*Handle][]listRead{}
	}
	r.lists[h] = append(r.lists[h], one)
}

// forget drops what a handle has read.
func (r *reads) forget(h *Handle) {
	delete(r.lists, h)
	for name, readers := range r.byName {
		delete(readers, h)
		if len(readers) == 0 {
			delete(r.byName, name)
		}
	}
}

// isEmpty reports whether nobody has read anything.
func (r *reads) isEmpty() bool { return len(r.byName) == 0 && len(r.lists) == 0 }

// ownersOf returns the owners who have read an object, as it is or as it was, sorted; and its name.
func (r *reads) ownersOf(n notification) (owners []Owner, name types.NamespacedName) {
	now, was := metadataOrNil(n.new), metadataOrNil(n.old)
	either := now
	if either == nil {
		either = was
	}
	if either == nil {
		return nil, name
	}
	name = types.NamespacedName{Namespace: either.GetNamespace(), Name: either.GetName()}
	for h := range r.byName[name] {
		owners = append(owners, h.owner)
	}
	for h, lists := range r.lists {
		if slices.ContainsFunc(lists, func(l listRead) bool { return l.hasObject(now) || l.hasObject(was) }) {
			owners = append(owners, h.owner)
		}
	}
	slices.SortFunc(owners, compareOwners)
	return slices.Compact(owners), name
}

func (l listRead) hasObject(object metaObject) bool {
	return object != nil && (l.namespace == "" || l.namespace == object.GetNamespace()) && l.matches(labels.Set(object.GetLabels()))
}

// metaObject is what is looked at of an object.
type metaObject interface {
	GetNamespace() string
	GetName() string
	GetLabels() map[string]string
}

func metadataOrNil(object any) metaObject {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if object == nil {
		return nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	return accessor
}

// recordName records that the handle of an owner reads an object, and does nothing for the cache itself.
func (k *kind) recordName(h *Handle, name types.NamespacedName) {
	if h.owner == (Owner{}) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads.addName(h, name)
}

// recordList is recordName for a list.
func (k *kind) recordList(h *Handle, given client.ListOptions) {
	if h.owner == (Owner{}) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads.addList(h, given)
}

// forgetReads drops what a handle has read.
func (k *kind) forgetReads(h *Handle) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads.forget(h)
}

// tellReadersLocked tells the owners who have read an object that it has changed. What a first list brings is told as a
// change of the stream.
func (k *kind) tellReadersLocked(n notification) {
	if k.reads.isEmpty() || n.kind == settled || n.initial {
		return
	}
	if owners, name := k.reads.ownersOf(n); len(owners) > 0 {
		k.readChanged(Change{GVK: k.key.GVK, Namespace: name.Namespace, State: stateOfRead, Object: name, Owners: owners})
	}
}
