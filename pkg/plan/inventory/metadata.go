package inventory

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// OwnerMetadata is what an owner's metadata has to say.
type OwnerMetadata struct {
	// Finalizer: ambit.dev/cleanup stands on the owner.
	Finalizer bool
	// Children is the value of the annotation ambit.dev/children; empty for none.
	Children string
}

// DoubtfulEntries returns the owner's inventory as it is before the metadata is written, with only
// those entries that then change on the word of a snapshot: neither places, nor what was merged.
// Whoever writes the metadata reads their objects first, and plans again with those that ProveOwnership says
// are the owner's.
//   - Entries that are dropped because their objects are taken for gone, unless they are left
//     behind. An entry is all that leads to its object, and what a snapshot does not show may have
//     lost its labels, or be younger than the snapshot.
//   - Entries that are given the uid of an object, which uids has. Another process may have seen
//     that object go, and be about to make the next one: with the wrong uid nothing proves that to
//     be the owner's. While a uid is on record nobody creates the object, so an entry may go from one
//     uid to another unread.
//   - Entries that lose their uid, so that the object can be made anew. It may have lost its labels only, and
//     a create would be refused then.
//
// The kinds of the entries are in the version in which their objects are observed. There
// are no entries if the inventory cannot be read or is another policy's. It is pure; the
// results are the caller's.
func (m OwnerMetadata) DoubtfulEntries(program *policy.Program, owner *unstructured.Unstructured) (doubtful Inventory, uids map[ObjectKey]types.UID) {
	stored := ReadStored(program, owner)
	doubtful = stored.Inventory
	doubtful.Entries = nil
	next, err := ParseInventory(m.Children)
	if stored.Err != nil || err != nil || len(stored.Entries) == 0 {
		return doubtful, nil
	}
	uids = make(map[ObjectKey]types.UID, len(next.Entries))
	for _, e := range next.Entries {
		uids[e.ObjectKey()] = e.UID
	}
	for _, e := range stored.Entries {
		uid, stays := uids[e.ObjectKey()]
		dropped := !stays && IsReadFirst(program, e)
		changes := stays && (e.UID == "") != (uid == "") && !e.IsPlace() && !e.Merged
		if dropped || changes {
			doubtful.Entries = append(doubtful.Entries, e)
		}
	}
	return doubtful, uids
}

// DroppedLeads returns the entries on record that m has no more, and that are not read before they are
// dropped: places, and what was merged into. There are none if the inventory cannot be read or is another
// policy's. It is pure; the result is the caller's.
func (m OwnerMetadata) DroppedLeads(program *policy.Program, owner *unstructured.Unstructured) []Entry {
	stored := ReadStored(program, owner)
	next, err := ParseInventory(m.Children)
	if stored.Err != nil || err != nil {
		return nil
	}
	stays := make(map[entryKey]bool, len(next.Entries))
	for _, e := range next.Entries {
		stays[keyOf(e)] = true
	}
	return slices.DeleteFunc(slices.Clone(stored.Entries), func(e Entry) bool { return !e.IsPlace() && !e.Merged || stays[keyOf(e)] })
}

// entryKey tells entries apart: there is one for each object, and in a place one for each child.
type entryKey struct {
	ObjectKey
	child string // of a place
}

func keyOf(e Entry) entryKey {
	key := entryKey{ObjectKey: e.ObjectKey()}
	if e.IsPlace() {
		key.child = e.Child
	}
	return key
}

// KeepRecorded returns the metadata to write in place of m while entries of DoubtfulEntries or DroppedLeads stay on
// record as they are, and whether the owner has to be written for that. What m adds is left out where an inventory has
// no room for both. It is pure.
func (m OwnerMetadata) KeepRecorded(program *policy.Program, owner *unstructured.Unstructured, stay []Entry) (OwnerMetadata, bool) {
	stored := ReadStored(program, owner)
	next, err := ParseInventory(m.Children)
	if stored.Err != nil || err != nil {
		return m, false
	}
	stays := make(map[entryKey]bool, len(stay))
	for _, e := range stay {
		stays[keyOf(e)] = true
	}
	wanted := slices.DeleteFunc(next.Entries, func(e Entry) bool { return stays[keyOf(e)] })
	next.Policy, next.TokenSecret, next.Entries = program.Label, stored.TokenSecret, slices.Concat(wanted, stay)
	if len(next.Entries) > MaxEntries || len(next.String()) > MaxBytes {
		for _, e := range next.Entries {
			stays[keyOf(e)] = true
		}
		next.Entries = slices.DeleteFunc(slices.Clone(stored.Entries), func(e Entry) bool { return !stays[keyOf(e)] })
	}
	kept := OwnerMetadata{Finalizer: m.Finalizer || stored.HasFinalizer, Children: next.String()}
	return kept, kept != OwnerMetadata{Finalizer: stored.HasFinalizer, Children: stored.Text}
}

// IsReadFirst reports whether the object of an entry is read before the entry is dropped.
func IsReadFirst(program *policy.Program, e Entry) bool {
	return !e.IsPlace() && !e.Merged && !IsLeftBehind(e, policy.FindChild(program.Children, e.Child))
}

// IsLeftBehind reports whether the object of an entry is left behind. c is the child of the
// entry's id, nil if there is none; if it is of that kind, it says so. What was merged is always
// taken back.
func IsLeftBehind(e Entry, c *policy.Child) bool {
	switch {
	case e.Merged:
		return false
	case c != nil && c.GVK.GroupKind() == e.GVK.GroupKind():
		return c.OnDelete == v1alpha1.DeleteOrphan
	}
	return e.Orphan
}

// Text shows what the owner's metadata is to say, as plans do; empty for nil.
func (m *OwnerMetadata) Text() string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "mark:\n  finalizer: %t\n  children:", m.Finalizer)
	inv, err := ParseInventory(m.Children)
	if err != nil {
		fmt.Fprintf(&b, " %v", err)
	}
	switch {
	case inv.Policy == "":
		b.WriteString(" none")
	case len(inv.Entries) == 0:
		b.WriteString(" none of policy " + inv.Policy)
	}
	b.WriteString("\n")
	for _, e := range inv.Entries {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	return b.String()
}
