package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// Drops returns the owner's inventory as it is before the mark, with only those entries
// that the mark drops because their objects are taken for gone: neither places, nor what
// was merged, nor what is left behind. An entry is all that leads to its object, and
// what a snapshot does not show may have lost its labels, or be younger than the
// snapshot. So whoever carries a mark out reads these objects first, and plans again
// with those that Prove says are the owner's.
//
// The kinds of the entries are in the version in which their objects are observed. There
// are no entries if the inventory cannot be read or is another policy's. It is pure; the
// result is the caller's.
func (m OwnerMetadata) Drops(program *policy.Program, owner *unstructured.Unstructured) Inventory {
	l := openLedger(program, owner)
	dropped := l.old
	dropped.Entries = nil
	next, err := ParseInventory(m.Children)
	if l.err != nil || err != nil || len(l.old.Entries) == 0 {
		return dropped
	}
	stays := make(map[ObjectKey]bool, len(next.Entries))
	for _, e := range next.Entries {
		stays[e.ObjectKey()] = true
	}
	for _, e := range l.old.Entries {
		if stays[e.ObjectKey()] || !e.isReadFirst(program) {
			continue
		}
		dropped.Entries = append(dropped.Entries, e)
	}
	return dropped
}

// isReadFirst says whether the object of an entry is read before a mark drops the entry.
func (e Entry) isReadFirst(program *policy.Program) bool {
	return !e.isPlace() && !e.Merged && !e.isLeft(policy.FindChild(program.Children, e.Child))
}
