package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// DroppedEntries returns the owner's inventory as it is before the metadata is written, with only
// those entries that are then dropped because their objects are taken for gone: neither
// places, nor what was merged, nor what is left behind. An entry is all that leads to its
// object, and what a snapshot does not show may have lost its labels, or be younger than the
// snapshot. So whoever writes the metadata reads these objects first, and plans again with
// those that Prove says are the owner's.
//
// The kinds of the entries are in the version in which their objects are observed. There
// are no entries if the inventory cannot be read or is another policy's. It is pure; the
// result is the caller's.
func (m OwnerMetadata) DroppedEntries(program *policy.Program, owner *unstructured.Unstructured) Inventory {
	stored := ReadStored(program, owner)
	dropped := stored.Inventory
	dropped.Entries = nil
	next, err := Parse(m.Children)
	if stored.Err != nil || err != nil || len(stored.Entries) == 0 {
		return dropped
	}
	stays := make(map[ObjectKey]bool, len(next.Entries))
	for _, e := range next.Entries {
		stays[e.ObjectKey()] = true
	}
	for _, e := range stored.Entries {
		if stays[e.ObjectKey()] || !IsReadFirst(program, e) {
			continue
		}
		dropped.Entries = append(dropped.Entries, e)
	}
	return dropped
}

// KeepRecorded returns the metadata to write in place of m while entries of Drops stay on record,
// and whether the owner has to be written for that. What m adds is left out where an inventory has
// no room for both. It is pure.
func (m OwnerMetadata) KeepRecorded(program *policy.Program, owner *unstructured.Unstructured, stay []Entry) (OwnerMetadata, bool) {
	stored := ReadStored(program, owner)
	next, err := Parse(m.Children)
	if stored.Err != nil || err != nil {
		return m, false
	}
	wanted := next.Entries
	next.Policy, next.TokenSecret, next.Entries = program.Name, stored.TokenSecret, slices.Concat(wanted, stay)
	if len(next.Entries) > MaxEntries || len(next.String()) > MaxBytes {
		stays := map[ObjectKey]bool{}
		for _, e := range next.Entries {
			stays[e.ObjectKey()] = true
		}
		next.Entries = slices.DeleteFunc(slices.Clone(stored.Entries), func(e Entry) bool { return !stays[e.ObjectKey()] })
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
