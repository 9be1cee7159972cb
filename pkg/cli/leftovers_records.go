package cli

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// leftoverRecords is what owners have on record, by object.
type leftoverRecords map[recordedObject]recordedBy

type recordedObject struct {
	kind            schema.GroupKind
	namespace, name string
}

type recordedBy struct {
	version string
	// owner is as in `App team-a/shop`.
	owner  string
	orphan bool
}

// read adds what is on record in an object. What cannot be read is a finding already.
func (r leftoverRecords) read(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) {
	inventory, err := plan.ParseInventory(object.Annotations[v1alpha1.AnnotationChildren])
	if err != nil {
		return
	}
	owner := gvk.Kind + " " + strings.TrimPrefix(object.Namespace+"/"+object.Name, "/")
	for _, e := range inventory.Entries {
		r[recordedObject{e.GVK.GroupKind(), e.Namespace, e.Name}] = recordedBy{version: e.GVK.Version, owner: owner, orphan: e.Orphan}
	}
}

// kinds are those on record, sorted.
func (r leftoverRecords) kinds() []schema.GroupVersionKind {
	kinds := map[schema.GroupVersionKind]bool{}
	for object, by := range r {
		kinds[object.kind.WithVersion(by.version)] = true
	}
	var found []schema.GroupVersionKind
	for kind := range kinds {
		found = append(found, kind)
	}
	slices.SortFunc(found, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return found
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
