package uninstall

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// maxRecordKinds is how many kinds are listed only because records name them: of one
// record, and of all together. Whoever writes an owner can write its record.
const maxRecordKinds = 64

// ownerRecords is what owners have on record, by object.
type ownerRecords map[inventory.ObjectKey]recordingOwner

type recordingOwner struct {
	// owner is as in `App team-a/shop`.
	owner  string
	orphan bool
}

// addRecord adds what is on record in an object. It returns why the record is not believed,
// empty if it is. isListed reports whether a kind is listed anyway. A record that cannot be
// read is a finding already.
func (r ownerRecords) addRecord(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata, isListed func(schema.GroupKind) bool) (unbelieved string) {
	stored, err := inventory.ParseInventory(object.Annotations[v1alpha1.AnnotationChildren])
	if err != nil {
		return ""
	}
	owner := objectText(gvk.Kind, object.Namespace, object.Name)
	unlisted := map[schema.GroupKind]bool{}
	for _, e := range stored.Entries {
		if kind := e.GVK.GroupKind(); !isListed(kind) {
			unlisted[kind] = true
		}
	}
	if len(unlisted) > maxRecordKinds {
		return fmt.Sprintf("the record of %s is left out: it names %d kinds that no policy has; Ambit writes at most %d", owner, len(unlisted), maxRecordKinds)
	}
	for _, e := range stored.Entries {
		r[e.ObjectKey()] = recordingOwner{owner: owner, orphan: e.Orphan}
	}
	return ""
}

// unlistedKinds returns the kinds on record that are not listed, sorted and at most
// maxRecordKinds, and how many more there are.
func (r ownerRecords) unlistedKinds(isListed func(schema.GroupKind) bool) (found []schema.GroupKind, more int) {
	unlisted := map[schema.GroupKind]bool{}
	for key := range r {
		if !isListed(key.Kind) {
			unlisted[key.Kind] = true
		}
	}
	found = slices.SortedFunc(maps.Keys(unlisted), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	more = max(0, len(found)-maxRecordKinds)
	return found[:len(found)-more], more
}

// explainChildren adds to findings about children which owner has them on record.
func (r ownerRecords) explainChildren(found []Finding) {
	for i := range found {
		f := &found[i]
		if f.Type != TypeChild {
			continue
		}
		kind := schema.FromAPIVersionAndKind(f.APIVersion, f.Kind).GroupKind()
		switch by, known := r[inventory.ObjectKey{Kind: kind, Namespace: f.Namespace, Name: f.Name}]; {
		case !known:
			f.Why += "; no owner that was seen has it on record"
		case by.orphan:
			f.Why = by.owner + " has it on record, to be left behind: onDelete is Orphan"
		default:
			f.Why += "; " + by.owner + " has it on record"
		}
	}
}
