package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Drops returns the owner's inventory as it is before the mark, with only those entries
// that the mark drops because their objects are taken for gone: neither places, nor what
// was merged, nor what is left behind. An entry is all that leads to its object, and
// what a snapshot does not show may have lost its labels, or be younger than the
// snapshot. So whoever carries a mark out reads these objects first, and plans again
// with those that Proves says are the owner's.
//
// The kinds of the entries are in the version in which their objects are observed. There
// are no entries if the inventory cannot be read or is another policy's. It is pure; the
// result is the caller's.
func (m Mark) Drops(program *policy.Program, owner *unstructured.Unstructured) Inventory {
	l := openLedger(program.Name, owner)
	dropped := Inventory{Policy: l.old.Policy, Claim: l.old.Claim}
	next, err := ParseInventory(m.Children)
	if l.err != nil || err != nil || len(l.old.Entries) == 0 {
		return dropped
	}
	stays := make(map[ObjectKey]bool, len(next.Entries))
	for _, e := range next.Entries {
		stays[e.ObjectKey()] = true
	}
	for _, e := range l.old.Entries {
		c := policy.FindChild(program.Children, e.Child)
		if e.isPlace() || e.Merged || stays[e.ObjectKey()] || e.isLeft(c) {
			continue
		}
		if c != nil && c.GVK.GroupKind() == e.GVK.GroupKind() {
			e.GVK = c.GVK
		}
		dropped.Entries = append(dropped.Entries, e)
	}
	return dropped
}

// Proves says whether the inventory, by one of its entries, proves that an object of the
// entry's kind and name is the owner's: it has the entry's claim and, where the entry
// has a uid, that uid. A merged entry proves nothing.
func (inv Inventory) Proves(e Entry, obj *unstructured.Unstructured) bool {
	if e.Merged || inv.Claim == "" || e.UID != "" && e.UID != obj.GetUID() {
		return false
	}
	claim := text(field(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim))
	return claim == inv.ClaimOf(e.GVK.GroupKind(), e.Namespace, e.Name)
}
