package plan

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Difference is one field of a live object that is not as desired.
type Difference struct {
	// Path is as in `spec.containers[name=web].ports[0]`.
	Path string
	// Want says of what type and size the desired value is, and Have the same of the live
	// one; `nothing` where there is none. Of Secrets not even that is said.
	Want, Have string
	// sum stands for both values in full.
	sum uint64
	// lost: the field was ours and is no more, for somebody else has changed or removed it.
	// Of what the API server or admission made of our own write it is false, but for a
	// field that was taken away at once.
	lost bool
}

// String is as in `spec.replicas is another number`, or `spec.replicas is nothing, want a
// number`. It says nothing of what the values hold.
func (d Difference) String() string {
	if d.isRecord() {
		return "the desired object has other fields than the one applied last"
	}
	if kind, ok := strings.CutPrefix(d.Have, "a "); ok && d.Have == d.Want {
		return d.Path + " is another " + kind
	}
	return d.Path + " is " + d.Have + ", want " + d.Want
}

// Digest returns a short text that stands for all differences, values included;
// empty for none.
func Digest(differences []Difference) string {
	if len(differences) == 0 {
		return ""
	}
	h := fnv.New64a()
	for _, d := range differences {
		h.Write([]byte(d.Path))
		h.Write(strconv.AppendUint([]byte{0}, d.sum, 16))
		h.Write([]byte{0})
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// Diff returns what a server-side apply of desired as the given field manager
// has to change in live, sorted by path; nil if nothing. It needs no schema: the
// manager's entries in live's managedFields say how list items are matched and
// which fields have to be removed. live may be projected to the fields that
// desired has; neither is changed.
//
// Where a value is compared:
//   - a map: every desired key must be there and equal; other keys are not ours;
//   - a list whose items our entry names by key, or by value: the same for items;
//   - any other list: item by item, and of the same length;
//   - numbers by value, quantities (below limits, requests, hard, capacity) too;
//   - an empty map, an empty list and null equal a field that is not there.
//
// A field of our entries that desired does not have is to be removed. A field
// that desired has and no entry of ours, although there are entries, was taken
// over by another manager; for a map or a list that is a difference, because
// values alone do not show what was added to an atomic one.
//
// An object without any metadata.managedFields (as `kubectl get` prints it) is
// compared by values alone. An object that has them, but none of the manager,
// is different.
func Diff(desired, live *unstructured.Unstructured, manager string) []Difference {
	differences, _ := compare(desired, live, manager)
	return differences
}

// compare is Diff; migrate is true if our entry of operation Update holds a
// field that has to be removed.
func compare(desired, live *unstructured.Unstructured, manager string) (differences []Difference, migrate bool) {
	entries := managed(live, manager)
	d := differ{secret: desired.GetKind() == "Secret", migrate: entries.migrate}
	d.path = d.buffer[:0]
	if entries.trouble != "" {
		d.path = append(d.path, segment{name: "metadata"}, segment{name: "managedFields"})
		d.add(note(manager), note(entries.trouble))
		d.path = d.path[:0]
	}
	d.maps(desired.Object, live.Object, entries.owned)
	d.record(desired, live)
	slices.SortFunc(d.found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Have, b.Have), cmp.Compare(a.sum, b.sum))
	})
	return d.found, d.migrate && len(d.found) > 0
}

// differ walks a desired and a live value side by side.
type differ struct {
	secret bool
	path   []segment
	buffer [16]segment
	found  []Difference
	// migrate: a difference needs our Update entry to become an Apply entry.
	migrate bool
	// lost: our entries do not have the current path.
	lost bool
	// extras: our Update entry holds fields that desired does not have, and that
	// may be the API server's defaults.
	extras bool
}

func (d *differ) push(s segment) { d.path = append(d.path, s) }
func (d *differ) pop()           { d.path = d.path[:len(d.path)-1] }

// add notes a difference at the current path.
func (d *differ) add(want, have any) {
	h := fnv.New64a()
	hashValue(h, want)
	hashValue(h, have)
	found := Difference{Path: pathText(d.path), Want: valueText(want), Have: valueText(have), sum: h.Sum64(), lost: d.lost && !d.atOurs()}
	if d.secret && len(d.path) > 0 && d.path[0].name == "data" || d.atClaim() {
		found.Want, found.Have = hidden(want), hidden(have)
	}
	d.found = append(d.found, found)
}

// value compares one desired value with the live one. own is what our entries
// say of it.
func (d *differ) value(want, have any, own owned) {
	switch want := want.(type) {
	case map[string]any:
		if m, ok := have.(map[string]any); ok || d.atAnnotations() {
			d.maps(want, m, own)
		} else if len(want) > 0 {
			d.add(want, have)
		}
	case []any:
		if list, ok := have.([]any); ok {
			d.lists(want, list, own)
		} else if len(want) > 0 {
			d.add(want, have)
		}
	case nil:
	default:
		if !equalScalar(want, have) && !d.equalQuantity(want, have) {
			d.add(want, have)
		}
	}
}

func (d *differ) maps(want, have map[string]any, own owned) {
	for key, value := range want {
		if value == nil || d.ignored(key) {
			continue
		}
		d.push(segment{name: key})
		below, lost := own.field(key)
		before := d.lost
		d.lost = before || lost
		if lost && !isEmpty(value) && isComposite(value) && !d.isMetadata() {
			d.taken(value, have[key])
		} else {
			d.value(value, have[key], below)
		}
		d.lost = before
		d.pop()
	}
	d.removedFields(want, have, own)
}

// taken notes a map or a list that no entry of ours has any more. With the values that we
// want it is nothing that somebody has changed.
func (d *differ) taken(want, have any) {
	before := len(d.found)
	d.value(want, have, owned{})
	if len(d.found) == before {
		d.add(want, takenOver)
		d.found[before].lost = false
	}
}

// removedFields notes the fields of our entries that desired does not have. What
// only the Update entry has may be a default of the API server.
func (d *differ) removedFields(want, have map[string]any, own owned) {
	for element := range own.apply {
		if key, ok := d.unwanted(element, want); ok {
			_, update := own.update[element]
			d.removeField(key, have, update)
		}
	}
	for element := range own.update {
		key, ok := d.unwanted(element, want)
		if _, both := own.apply[element]; !ok || both {
			continue
		}
		if !d.certain() && !d.isReferences(key) {
			d.extras = true
			continue
		}
		d.removeField(key, have, true)
	}
}

// unwanted returns the name of a field of ours that desired does not have.
func (d *differ) unwanted(element string, want map[string]any) (key string, ok bool) {
	key, ok = fieldName(element)
	return key, ok && want[key] == nil && !d.ignored(key)
}

func (d *differ) removeField(key string, have map[string]any, update bool) {
	d.push(segment{name: key})
	d.remove(have[key], update)
	d.pop()
}

// remove notes that what is at the current path is to be removed. A projected
// live object need not show it.
func (d *differ) remove(have any, update bool) {
	d.migrate = d.migrate || update
	if have == nil {
		have = unseen
	}
	d.add(nil, have)
}

// certain says whether the current path is a map that the API server puts no
// defaults in: what our Update entry holds of it was set by us.
func (d *differ) certain() bool {
	if len(d.path) == 0 {
		return false
	}
	name := d.path[len(d.path)-1].name
	return hasNoDefaults(name) || len(d.path) == 1 && (name == "data" || name == "binaryData")
}

// isMetadata says whether the current path is that of the metadata as a whole, which
// nobody takes over: of a merged object it may hold the identity alone.
func (d *differ) isMetadata() bool { return len(d.path) == 1 && d.path[0].name == "metadata" }

// isReferences says whether a key at the current path is the ownerReferences: the API
// server sets none.
func (d *differ) isReferences(key string) bool {
	return key == "ownerReferences" && len(d.path) == 1 && d.path[0].name == "metadata"
}

// atOurs says whether the current path is that of what Ambit itself adds to an object:
// its labels and annotations, the ownerReferences.
func (d *differ) atOurs() bool {
	if len(d.path) < 2 || d.path[0].name != "metadata" {
		return false
	}
	switch d.path[1].name {
	case "ownerReferences":
		return true
	case "labels", "annotations":
		key := d.path[len(d.path)-1].name
		return len(d.path) == 2 || key == v1alpha1.LabelManagedBy || strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/")
	}
	return false
}

// atClaim says whether the current path is that of the claim, which is nobody's
// business.
func (d *differ) atClaim() bool {
	return len(d.path) == 3 && d.path[2].name == v1alpha1.AnnotationClaim && d.path[1].name == "annotations"
}

// atAnnotations says whether the current path is that of the annotations, which
// are no difference as a whole: the record among them does not count.
func (d *differ) atAnnotations() bool {
	return len(d.path) == 2 && d.path[1].name == "annotations" && d.path[0].name == "metadata"
}

// labelMetadataName is the label that the API server itself sets on Namespaces.
const labelMetadataName = "kubernetes.io/metadata.name"

// ignored says whether a key at the current path is not for us to compare: the
// object's identity, its status, what only the API server sets, and the record,
// which has its own comparison.
func (d *differ) ignored(key string) bool {
	switch len(d.path) {
	case 0:
		return key == "apiVersion" || key == "kind" || key == "status"
	case 1:
		return d.path[0].name == "metadata" && isServerMetadata(key)
	case 2:
		return key == AnnotationFields && d.atAnnotations() || key == labelMetadataName && d.path[1].name == "labels" && d.path[0].name == "metadata"
	}
	return false
}
