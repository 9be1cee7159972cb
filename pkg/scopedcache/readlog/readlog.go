// Package readlog knows who has read what, so that a change is told to those who have read what has changed.
package readlog

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owner is an object that is reconciled.
type Owner struct {
	// Kind tells owners of several controllers apart. It may be empty.
	Kind schema.GroupKind
	types.NamespacedName
}

// CompareOwners orders owners.
func CompareOwners(a, b Owner) int {
	return cmp.Or(
		cmp.Compare(a.Kind.String(), b.Kind.String()),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}

// Reader reads for an owner; the zero Owner is that of a reader for nobody. Readers are told apart by their address.
type Reader struct{ Owner Owner }

// IsOwner reports whether it reads for somebody.
func (r *Reader) IsOwner() bool { return r.Owner != Owner{} }

// Log is what readers have read of a kind. It is not safe for concurrent use. The zero Log is empty.
type Log struct {
	byName map[types.NamespacedName]map[*Reader]struct{}
	lists  map[*Reader][]listRead
}

// listRead is a list that was read.
type listRead struct {
	namespace string // "" is all
	selector  string // of labels, as text; "" is all
	matches   func(labels.Labels) bool
}

// AddName records that one object was read.
func (l *Log) AddName(reader *Reader, name types.NamespacedName) {
	if l.byName == nil {
		l.byName = map[types.NamespacedName]map[*Reader]struct{}{}
	}
	if l.byName[name] == nil {
		l.byName[name] = map[*Reader]struct{}{}
	}
	l.byName[name][reader] = struct{}{}
}

// AddList records that a list was read. Fields are not looked at.
func (l *Log) AddList(reader *Reader, given client.ListOptions) {
	one := listRead{namespace: given.Namespace, matches: func(labels.Labels) bool { return true }}
	if given.LabelSelector != nil {
		one.selector, one.matches = given.LabelSelector.String(), given.LabelSelector.Matches
	}
	if slices.ContainsFunc(l.lists[reader], func(o listRead) bool { return o.namespace == one.namespace && o.selector == one.selector }) {
		return
	}
	if l.lists == nil {
		l.lists = map[*Reader][]listRead{}
	}
	l.lists[reader] = append(l.lists[reader], one)
}

// ForgetReader drops what a reader has read.
func (l *Log) ForgetReader(reader *Reader) {
	delete(l.lists, reader)
	for name, readers := range l.byName {
		delete(readers, reader)
		if len(readers) == 0 {
			delete(l.byName, name)
		}
	}
}

// IsEmpty reports whether nobody has read anything.
func (l *Log) IsEmpty() bool { return len(l.byName) == 0 && len(l.lists) == 0 }

// OwnersOf returns the owners who have read an object, as it is or as it was, sorted; and its name.
func (l *Log) OwnersOf(object, before any) (owners []Owner, name types.NamespacedName) {
	now, was := metadataOrNil(object), metadataOrNil(before)
	either := now
	if either == nil {
		either = was
	}
	if either == nil {
		return nil, name
	}
	name = types.NamespacedName{Namespace: either.GetNamespace(), Name: either.GetName()}
	for reader := range l.byName[name] {
		owners = append(owners, reader.Owner)
	}
	for reader, lists := range l.lists {
		if slices.ContainsFunc(lists, func(one listRead) bool { return one.hasObject(now) || one.hasObject(was) }) {
			owners = append(owners, reader.Owner)
		}
	}
	slices.SortFunc(owners, CompareOwners)
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
