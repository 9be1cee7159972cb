package recordcheck

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// LostWrites are the objects that writes of a policy's owners may have made, or merged into, and that
// streams may not show: the answer did not come, or said that the object was there already. What leads to
// such an object, the entry of its place or that of the merge, is not read before it is dropped: it stays
// until each was read. Revisions of a policy share them, as they share streams. The zero value: there are
// none. Safe for concurrent use.
type LostWrites struct {
	mu      sync.Mutex
	byOwner map[types.UID]map[inventory.ObjectKey]bool // true: it was a merge
}

// RecordLost notes a write of an object for an owner: a merge, or a create.
func (l *LostWrites) RecordLost(owner types.UID, key inventory.ObjectKey, isMerge bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byOwner == nil {
		l.byOwner = map[types.UID]map[inventory.ObjectKey]bool{}
	}
	if l.byOwner[owner] == nil {
		l.byOwner[owner] = map[inventory.ObjectKey]bool{}
	}
	l.byOwner[owner][key] = isMerge
}

// RecordAnswer notes that it is known what has become of an owner's object, and that a stream shows it if
// it is there.
func (l *LostWrites) RecordAnswer(owner types.UID, key inventory.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.byOwner[owner], key); len(l.byOwner[owner]) == 0 {
		delete(l.byOwner, owner)
	}
}

// ForgetOwner notes that there is nothing more to be known of an owner.
func (l *LostWrites) ForgetOwner(owner types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byOwner, owner)
}

// HasLost reports whether there is any such write for an owner.
func (l *LostWrites) HasLost(owner types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byOwner[owner]) > 0
}

// LostUnder returns the objects that an entry of an owner's record leads to, each as an entry, in the
// order of their names: those that were to be made in the place, or the one that was merged into. The
// slice is the caller's.
func (l *LostWrites) LostUnder(owner types.UID, e inventory.Entry) []inventory.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lost []inventory.Entry
	for key, isMerge := range l.byOwner[owner] {
		place := key
		place.Name = ""
		if isMerge == e.Merged && (isMerge && key == e.ObjectKey() || e.IsPlace() && place == e.ObjectKey()) {
			lost = append(lost, inventory.Entry{Child: e.Child, GVK: e.GVK, Namespace: key.Namespace, Name: key.Name, Merged: e.Merged})
		}
	}
	slices.SortFunc(lost, func(a, b inventory.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return lost
}
