package plan

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// recordedObjects are entries of ConfigMaps elsewhere, with these numbers.
func recordedObjects(from, to int) (list []inventory.Entry) {
	for i := from; i < to; i++ {
		list = append(list, inventory.Entry{Child: "web", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "there",
			Name: fmt.Sprintf("a%04d", i), UID: types.UID(fmt.Sprint("u", i))})
	}
	return list
}

// withoutUIDs are the entries as they are before their objects are made.
func withoutUIDs(entries []inventory.Entry) []inventory.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].UID = ""
	}
	return entries
}

func recordText(entries ...inventory.Entry) string {
	inv := inventory.Inventory{Policy: "test", Entries: entries}
	if len(entries) > 0 {
		inv.TokenSecret = "aaaaaaaaaaaaaaaa"
	}
	return inv.String()
}

// TestKeepRecorded: while entries that metadata drops, or gives a uid, are still to be looked at, they
// stay on the owner as they are, with the finalizer, and what is new is there too if there is room.
func TestKeepRecorded(t *testing.T) {
	old, fresh := recordedObjects(0, 40), recordedObjects(5000, 5001)
	full := recordedObjects(0, inventory.MaxEntries)
	cases := map[string]struct {
		reason       string
		stored, next []inventory.Entry // what is on the owner, and what the plan wants there
		stay         []inventory.Entry
		want         []inventory.Entry
		unchanged    bool
	}{
		"Some":     {reason: "what was looked at goes", stored: old, stay: old[32:], want: old[32:]},
		"Fresh":    {reason: "what is wanted does not wait", stored: old, next: fresh, stay: old[32:], want: append(recordedObjects(32, 40), fresh...)},
		"NoneRead": {reason: "nothing was looked at", stored: old, stay: old, want: old, unchanged: true},
		"NoRoom": {reason: "there is no room for what is wanted before the rest is gone", stored: full, next: fresh, stay: full,
			want: full, unchanged: true},
		"Settled": {reason: "a uid is put on record when its object was read", stored: withoutUIDs(old), next: old, stay: withoutUIDs(old[32:]),
			want: append(withoutUIDs(old[32:]), old[:32]...)},
		"RoomSoon": {reason: "as much goes as was looked at", stored: full, next: recordedObjects(5000, 5100), stay: full[32:], want: full[32:]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAttack(t, anywhere)
			a.owner.SetAnnotations(map[string]string{v1alpha1.AnnotationChildren: recordText(tc.stored...)})
			a.owner.SetFinalizers([]string{v1alpha1.FinalizerCleanup})
			before := a.owner.DeepCopy()
			m := OwnerMetadata{Children: recordText(tc.next...), Finalizer: len(tc.next) > 0}
			if len(tc.next) == 0 {
				m.Children = ""
			}
			kept, changes := m.KeepRecorded(a.program, a.owner, tc.stay)
			want := OwnerMetadata{Finalizer: true, Children: recordText(tc.want...)}
			if kept != want || changes == tc.unchanged {
				t.Errorf("%s: changes is %t, and it gave\n%.300s\nwant\n%.300s", tc.reason, changes, kept.Children, want.Children)
			}
			if _, err := inventory.ParseInventory(kept.Children); err != nil {
				t.Errorf("%s: it would not be believed: %v", tc.reason, err)
			}
			if doubtful, _ := kept.DoubtfulEntries(a.program, a.owner); len(doubtful.Entries) != len(tc.stored)-len(tc.stay) {
				t.Errorf("%s: %d entries are doubtful, want the %d that were looked at", tc.reason, len(doubtful.Entries), len(tc.stored)-len(tc.stay))
			}
			if fmt.Sprint(before) != fmt.Sprint(a.owner) {
				t.Errorf("%s: the owner was changed", tc.reason)
			}
		})
	}
}

// TestDoubtfulEntries: what changes on the word of a snapshot is to be read first, and nothing else is.
func TestDoubtfulEntries(t *testing.T) {
	a := newAttack(t, anywhere)
	one := recordedObjects(0, 1)[0]
	change := func(f func(*inventory.Entry)) inventory.Entry {
		e := one
		f(&e)
		return e
	}
	unsettled, other := withoutUIDs([]inventory.Entry{one})[0], change(func(e *inventory.Entry) { e.UID = "another" })
	merged := change(func(e *inventory.Entry) { e.Merged = true })
	mergedBefore := change(func(e *inventory.Entry) { e.Merged, e.UID = true, "" })
	orphan := change(func(e *inventory.Entry) { e.Child, e.Orphan = "gone", true })
	orphanBefore := change(func(e *inventory.Entry) { e.Child, e.Orphan, e.UID = "gone", true, "" })
	place := change(func(e *inventory.Entry) { e.Name, e.UID = "", "" })
	for name, tc := range map[string]struct {
		reason       string
		stored, next inventory.Entry // the zero value: none
		want         types.UID       // that it is read for
		isRead       bool
	}{
		"Dropped":       {reason: "it is taken for gone", stored: one, isRead: true},
		"DroppedBefore": {reason: "its create may have been accepted", stored: unsettled, isRead: true},
		"Settled":       {reason: "the object may be another one by now", stored: unsettled, next: one, want: one.UID, isRead: true},
		"Stays":         {reason: "nothing changes", stored: one, next: one},
		"Unsettled":     {reason: "nothing changes", stored: unsettled, next: unsettled},
		"MadeAnew":      {reason: "it may have lost its labels only", stored: one, next: unsettled, isRead: true},
		"Adopted":       {reason: "with a uid on record nobody makes it", stored: one, next: other},
		"New":           {reason: "nothing is lost", next: one},
		"Merged":        {reason: "the object is somebody else's", stored: merged},
		"MergedSettled": {reason: "the same", stored: mergedBefore, next: merged},
		"Place":         {reason: "it is no object", stored: place},
		"Orphan":        {reason: "it is left behind", stored: orphan},
		"OrphanSettled": {reason: "it has to be found again", stored: orphanBefore, next: orphan, want: orphan.UID, isRead: true},
	} {
		t.Run(name, func(t *testing.T) {
			list := func(e inventory.Entry) []inventory.Entry {
				if e == (inventory.Entry{}) {
					return nil
				}
				return []inventory.Entry{e}
			}
			a.owner.SetAnnotations(map[string]string{v1alpha1.AnnotationChildren: recordText(list(tc.stored)...)})
			doubtful, uids := OwnerMetadata{Children: recordText(list(tc.next)...)}.DoubtfulEntries(a.program, a.owner)
			if isRead := len(doubtful.Entries) == 1; isRead != tc.isRead || isRead && uids[tc.stored.ObjectKey()] != tc.want {
				t.Errorf("%s: %v is read, for %v", tc.reason, doubtful.Entries, uids)
			}
		})
	}
}
