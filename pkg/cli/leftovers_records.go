package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// maxRecordKinds is how many kinds are looked at because records name them, and nothing
// else does: of one record, and of all together. Who writes an owner can write its record.
const maxRecordKinds = 64

// leftoverRecords is what owners have on record, by object.
type leftoverRecords map[recordedObject]recordedBy

type recordedObject struct {
	kind            schema.GroupKind
	namespace, name string
}

type recordedBy struct {
	// owner is as in `App team-a/shop`.
	owner  string
	orphan bool
}

// read adds what is on record in an object, and returns why it does not believe the
// record; empty if it does. known reports of a kind whether it is looked at anyway. What
// cannot be read is a finding already.
func (r leftoverRecords) read(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata, known func(schema.GroupKind) bool) (unbelieved string) {
	record, err := inventory.Parse(object.Annotations[v1alpha1.AnnotationChildren])
	if err != nil {
		return ""
	}
	owner := gvk.Kind + " " + strings.TrimPrefix(object.Namespace+"/"+object.Name, "/")
	others := map[schema.GroupKind]bool{}
	for _, e := range record.Entries {
		if kind := e.GVK.GroupKind(); !known(kind) {
			others[kind] = true
		}
	}
	if len(others) > maxRecordKinds {
		return fmt.Sprintf("the record of %s is left out: it names %d kinds that no policy has; Ambit writes at most %d", owner, len(others), maxRecordKinds)
	}
	for _, e := range record.Entries {
		r[recordedObject{e.GVK.GroupKind(), e.Namespace, e.Name}] = recordedBy{owner: owner, orphan: e.Orphan}
	}
	return ""
}

// kinds are those on record that are not known, sorted, no more than are looked at; more
// is how many others there are.
func (r leftoverRecords) kinds(known func(schema.GroupKind) bool) (found []schema.GroupKind, more int) {
	kinds := map[schema.GroupKind]bool{}
	for object := range r {
		if !known(object.kind) {
			kinds[object.kind] = true
		}
	}
	for kind := range kinds {
		found = append(found, kind)
	}
	slices.SortFunc(found, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	more = max(0, len(found)-maxRecordKinds)
	return found[:len(found)-more], more
}

// explain says of children which owner has them on record.
func (r leftoverRecords) explain(found []needing) {
	for i := range found {
		n := &found[i]
		if n.Finding != foundChild {
			continue
		}
		kind := schema.FromAPIVersionAndKind(n.APIVersion, n.Kind).GroupKind()
		switch by, known := r[recordedObject{kind, n.Namespace, n.Name}]; {
		case !known:
			n.Why += "; no owner that was seen has it on record"
		case by.orphan:
			n.Why = by.owner + " has it on record, to be left behind: onDelete is Orphan"
		default:
			n.Why += "; " + by.owner + " has it on record"
		}
	}
}
