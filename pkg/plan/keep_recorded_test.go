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
			if _, err := inventory.Parse(kept.Children); err != nil {
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
