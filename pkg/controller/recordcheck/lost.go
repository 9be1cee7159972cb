package recordcheck

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// LostWrites are the objects that an owner's writes may have made, or merged into, without an answer
// that says whether they have. Streams may not show them yet, and what leads to them, the entry of their
// place or that of the merge, is not read before it is dropped: it stays until each was read. The zero
// value: there are none. Not safe for concurrent use.
type LostWrites struct {
	kinds map[inventory.ObjectKey]schema.GroupVersionKind
}

// RecordLost notes a write of an object of this kind that was not answered.
func (l *LostWrites) RecordLost(key inventory.ObjectKey, kind schema.GroupVersionKind) {
	if l.kinds == nil {
		l.kinds = map[inventory.ObjectKey]schema.GroupVersionKind{}
	}
	l.kinds[key] = kind
}

// RecordAnswer notes that it is known what has become of an object.
func (l *LostWrites) RecordAnswer(key inventory.ObjectKey) { delete(l.kinds, key) }

// LostUnder returns the objects that an entry leads to, each as an entry, in the order of their names:
// those in the place, or the one that was merged into. The slice is the caller's.
func (l *LostWrites) LostUnder(e inventory.Entry) []inventory.Entry {
	var lost []inventory.Entry
	for _, key := range slices.SortedFunc(maps.Keys(l.kinds), func(a, b inventory.ObjectKey) int { return cmp.Compare(a.Name, b.Name) }) {
		place := key
		place.Name = ""
		if key == e.ObjectKey() || e.IsPlace() && place == e.ObjectKey() {
			lost = append(lost, inventory.Entry{Child: e.Child, GVK: l.kinds[key], Namespace: key.Namespace, Name: key.Name, Merged: e.Merged})
		}
	}
	return lost
}
