package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// inventoryUpdate is what the owner's metadata says of its children, and what it has to say.
type inventoryUpdate struct {
	// Stored is the inventory as it is on the owner.
	inventory.Stored
	// index finds the objects of Stored by name, and places has its places; both are made
	// when they are first needed.
	index  map[inventory.ObjectKey]int
	places map[inventoryPlace]bool
	// next are the entries to be: those of wanted objects and places, which covered and
	// coveredPlaces have, and those that stay.
	next          []inventory.Entry
	covered       map[inventory.ObjectKey]bool
	coveredPlaces map[inventoryPlace]bool
	// wantsFinalizer: the finalizer has to be there.
	wantsFinalizer bool
	// waiting are the places that are not looked at yet, by findWaiting.
	waiting map[inventorySite]bool
}

// inventoryPlace is what a place entry stands for.
type inventoryPlace struct {
	child, namespace string
	kind             schema.GroupKind
}

func placeOf(e inventory.Entry) inventoryPlace {
	return inventoryPlace{child: e.Child, namespace: e.Namespace, kind: e.GVK.GroupKind()}
}

// inventorySite is a place of an inventory that costs something to look at.
type inventorySite struct {
	kind      schema.GroupKind
	namespace string
	merged    bool
}

func siteOf(e inventory.Entry) inventorySite {
	return inventorySite{kind: e.GVK.GroupKind(), namespace: e.Namespace, merged: e.Merged}
}

// problem is that of an inventory that cannot be read.
func (u *inventoryUpdate) problem() *Problem {
	return &Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true, Message: fmt.Sprintf(
		"%v: nothing is deleted before the annotation %s is as Ambit has written it, or is removed", u.Err, v1alpha1.AnnotationChildren)}
}

// entry finds an object in the inventory as it is.
func (u *inventoryUpdate) entry(key inventory.ObjectKey) (inventory.Entry, bool) {
	if len(u.Entries) == 0 {
		return inventory.Entry{}, false
	}
	if u.index == nil {
		u.index = make(map[inventory.ObjectKey]int, len(u.Entries))
		for i, e := range u.Entries {
			if !e.IsPlace() {
				u.index[e.ObjectKey()] = i
			}
		}
	}
	i, ok := u.index[key]
	if !ok {
		return inventory.Entry{}, false
	}
	return u.Entries[i], true
}

// hasPlace reports whether the inventory says to look for a child in a namespace.
func (u *inventoryUpdate) hasPlace(wanted inventoryPlace) bool {
	if u.places == nil {
		u.places = map[inventoryPlace]bool{}
		for _, e := range u.Entries {
			if e.IsPlace() {
				u.places[placeOf(e)] = true
			}
		}
	}
	return u.places[wanted]
}

// cover enters a wanted object.
func (u *inventoryUpdate) cover(e inventory.Entry) {
	if u.covered == nil {
		u.covered = map[inventory.ObjectKey]bool{}
	}
	u.covered[e.ObjectKey()] = true
	u.next = append(u.next, e)
}

// coverPlace enters a wanted place, once.
func (u *inventoryUpdate) coverPlace(e inventory.Entry) {
	if u.coveredPlaces[placeOf(e)] {
		return
	}
	if u.coveredPlaces == nil {
		u.coveredPlaces = map[inventoryPlace]bool{}
	}
	u.coveredPlaces[placeOf(e)] = true
	u.next = append(u.next, e)
}

// isCovered reports whether an entry of the inventory is of a wanted object or place.
func (u *inventoryUpdate) isCovered(e inventory.Entry) bool {
	if e.IsPlace() {
		return u.coveredPlaces[placeOf(e)]
	}
	return u.covered[e.ObjectKey()]
}

// wait has the entries of a place stay as they are for now.
func (u *inventoryUpdate) wait(s inventorySite) {
	if u.waiting == nil {
		u.waiting = map[inventorySite]bool{}
	}
	u.waiting[s] = true
}

// waits reports whether an entry stays as it is for now, because too many others are looked
// at.
func (u *inventoryUpdate) waits(e inventory.Entry) bool { return u.waiting[siteOf(e)] }

// Drops returns the owner's inventory as it is before the metadata is written, with only
// those entries that are then dropped because their objects are taken for gone: neither
// places, nor what was merged, nor what is left behind. An entry is all that leads to its
// object, and what a snapshot does not show may have lost its labels, or be younger than the
// snapshot. So whoever writes the metadata reads these objects first, and plans again with
// those that Prove says are the owner's.
//
// The kinds of the entries are in the version in which their objects are observed. There
// are no entries if the inventory cannot be read or is another policy's. It is pure; the
// result is the caller's.
func (m OwnerMetadata) Drops(program *policy.Program, owner *unstructured.Unstructured) inventory.Inventory {
	stored := inventory.Read(program, owner)
	dropped := stored.Inventory
	dropped.Entries = nil
	next, err := inventory.Parse(m.Children)
	if stored.Err != nil || err != nil || len(stored.Entries) == 0 {
		return dropped
	}
	stays := make(map[inventory.ObjectKey]bool, len(next.Entries))
	for _, e := range next.Entries {
		stays[e.ObjectKey()] = true
	}
	for _, e := range stored.Entries {
		if stays[e.ObjectKey()] || !isReadFirst(program, e) {
			continue
		}
		dropped.Entries = append(dropped.Entries, e)
	}
	return dropped
}

// KeepRecorded returns the metadata to write in place of m while entries of Drops stay on record,
// and whether the owner has to be written for that. What m adds is left out where an inventory has
// no room for both. It is pure.
func (m OwnerMetadata) KeepRecorded(program *policy.Program, owner *unstructured.Unstructured, stay []inventory.Entry) (OwnerMetadata, bool) {
	stored := inventory.Read(program, owner)
	next, err := inventory.Parse(m.Children)
	if stored.Err != nil || err != nil {
		return m, false
	}
	wanted := next.Entries
	next.Policy, next.TokenSecret, next.Entries = program.Name, stored.TokenSecret, slices.Concat(wanted, stay)
	if len(next.Entries) > inventory.MaxEntries || len(next.String()) > inventory.MaxBytes {
		stays := map[inventory.ObjectKey]bool{}
		for _, e := range next.Entries {
			stays[e.ObjectKey()] = true
		}
		next.Entries = slices.DeleteFunc(slices.Clone(stored.Entries), func(e inventory.Entry) bool { return !stays[e.ObjectKey()] })
	}
	kept := OwnerMetadata{Finalizer: m.Finalizer || stored.HasFinalizer, Children: next.String()}
	return kept, kept != OwnerMetadata{Finalizer: stored.HasFinalizer, Children: stored.Text}
}

// isReadFirst reports whether the object of an entry is read before the entry is dropped.
func isReadFirst(program *policy.Program, e inventory.Entry) bool {
	return !e.IsPlace() && !e.Merged && !isLeftBehind(e, policy.FindChild(program.Children, e.Child))
}
