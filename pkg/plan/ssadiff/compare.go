package ssadiff

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/plan/managedfields"
)

// Result is what a server-side apply has to change, and what it takes.
type Result struct {
	// Differences are sorted by path; nil if there is nothing to change.
	Differences []Difference
	// Migrate is true if the manager's entry of operation Update has to become one of operation
	// Apply first.
	Migrate bool
	// Changes is a JSON merge patch (RFC 7386) that changes the same fields as the apply, as one
	// update of the manager; nil if it takes an apply. It has maps and scalars alone.
	Changes map[string]any
}

// Compare returns what a server-side apply of desired as the given field manager has to change
// in live. live may be projected to the fields that desired has, and metadata. The result is the
// caller's.
//
// Where a value is compared:
//   - a map: every desired key must be there and equal; other keys are not the manager's;
//   - a list whose items the manager's entry names by key, or by value: the same for items;
//   - any other list: item by item, and of the same length;
//   - numbers by value, quantities (below limits, requests, hard, capacity) too;
//   - an empty map, an empty list and null equal a field that is not there.
//
// A field of the manager's entries that desired does not have is to be removed. A field that
// desired has and no entry, although there are entries, was taken over by another manager; for
// a map or a list that is a difference, because values alone do not show what was added to an
// atomic one.
//
// An object without any metadata.managedFields (as `kubectl get` prints it) is compared by
// values alone. An object that has them, but none of the manager, is different.
func Compare(desired, live *unstructured.Unstructured, manager string) Result {
	entries := managedfields.FindEntries(live, manager)
	d := comparison{secret: desired.GetKind() == "Secret", hasTexts: hasTexts(desired.GroupVersionKind()), migrate: entries.Migrate}
	d.path = d.buffer[:0]
	if entries.Trouble != "" {
		d.path = append(d.path, segment{name: "metadata"}, segment{name: "managedFields"})
		d.addDifference(note(manager), note(entries.Trouble))
		d.path = d.path[:0]
	}
	d.compareMaps(desired.Object, live.Object, entries.Owned)
	d.compareFieldSets(desired, live)
	slices.SortFunc(d.found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Have, b.Have), cmp.Compare(a.valuesHash, b.valuesHash))
	})
	if len(d.found) == 0 {
		return Result{}
	}
	r := Result{Differences: d.found, Migrate: d.migrate}
	if !d.needsApply {
		r.Changes = d.changes
	}
	return r
}

// comparison walks a desired and a live value side by side.
type comparison struct {
	secret   bool
	hasTexts bool // it is a ConfigMap or a Secret
	path     []segment
	buffer   [16]segment
	found    []Difference
	// migrate: a difference needs the Update entry to become an Apply entry.
	migrate bool
	// lost: the manager's entries do not have the current path.
	lost bool
	// extras: the Update entry holds fields that desired does not have, and that may be
	// the API server's defaults.
	extras bool
	// isOwn: the manager's entries name the field at the current path.
	isOwn bool
	// changes are the differences that a merge patch makes good; needsApply: there are others.
	changes    map[string]any
	needsApply bool
}

func (d *comparison) pushSegment(s segment) { d.path = append(d.path, s) }
func (d *comparison) popSegment()           { d.path = d.path[:len(d.path)-1] }

// addDifference notes a difference at the current path.
func (d *comparison) addDifference(want, have any) {
	h := hashValue(hashValue(fnvOffset, want), have)
	found := Difference{Path: pathText(d.path), Want: DescribeValue(want), Have: DescribeValue(have), valuesHash: h, lost: d.lost && !d.atOurs()}
	if d.secret && len(d.path) > 0 && d.path[0].name == "data" || d.atClaim() {
		found.Want, found.Have = hideValue(want), hideValue(have)
	}
	d.found = append(d.found, found)
	d.noteChange(want, have)
}

// compareValue compares one desired value with the live one. own is what the manager's
// entries say of it.
func (d *comparison) compareValue(want, have any, own managedfields.Ownership) {
	switch want := want.(type) {
	case map[string]any:
		if m, ok := have.(map[string]any); ok || d.atAnnotations() {
			d.compareMaps(want, m, own)
		} else if len(want) > 0 {
			d.addDifference(want, have)
		}
	case []any:
		if list, ok := have.([]any); ok {
			d.compareLists(want, list, own)
		} else if len(want) > 0 {
			d.addDifference(want, have)
		}
	case nil:
	default:
		if !equalScalar(want, have) && !d.equalQuantity(want, have) {
			d.addDifference(want, have)
		}
	}
}

func (d *comparison) compareMaps(want, have map[string]any, own managedfields.Ownership) {
	for key, value := range want {
		if value == nil || d.isIgnored(key) {
			continue
		}
		d.pushSegment(segment{name: key})
		below, lost := own.OfField(key)
		if !lost && !below.IsKnown() && own.IsKnown() && d.isGranular() {
			below = managedfields.OwnsNothing() // a leaf is the map itself, each key of which others have taken over
		}
		before := d.lost
		d.lost, d.isOwn = before || lost, own.IsKnown() && !lost
		if lost && !isEmpty(value) && isComposite(value) && !d.isMetadata() {
			d.addTakenOver(value, have[key])
		} else {
			d.compareValue(value, have[key], below)
		}
		d.lost, d.isOwn = before, false
		d.popSegment()
	}
	d.addRemovedFields(want, have, own)
}

// addTakenOver notes a map or a list that the manager does not own any more. Where its values
// are as desired, nobody has changed it.
func (d *comparison) addTakenOver(want, have any) {
	before := len(d.found)
	d.compareValue(want, have, managedfields.Ownership{})
	if len(d.found) == before {
		d.addDifference(want, takenOver)
		d.found[before].lost = false
	}
}

// addRemovedFields notes the fields that the manager owns and desired does not have. What
// only the Update entry has may be a default of the API server.
func (d *comparison) addRemovedFields(want, have map[string]any, own managedfields.Ownership) {
	for element := range own.Apply {
		if key, ok := d.unwantedField(element, want); ok {
			_, update := own.Update[element]
			d.addRemovedField(key, have, update)
		}
	}
	for element := range own.Update {
		key, ok := d.unwantedField(element, want)
		if _, both := own.Apply[element]; !ok || both {
			continue
		}
		if !d.hasNoDefaults() && !d.isReferences(key) {
			d.extras = true
			continue
		}
		d.addRemovedField(key, have, true)
	}
}

// unwantedField returns the name of a path element, and whether desired does not have it.
func (d *comparison) unwantedField(element string, want map[string]any) (key string, ok bool) {
	key, ok = managedfields.ParseFieldName(element)
	return key, ok && want[key] == nil && !d.isIgnored(key)
}

func (d *comparison) addRemovedField(key string, have map[string]any, update bool) {
	d.pushSegment(segment{name: key})
	d.addRemoved(have[key], update)
	d.popSegment()
}

// addRemoved notes that the value at the current path is to be removed. A projected live
// object need not show it.
func (d *comparison) addRemoved(have any, update bool) {
	d.migrate = d.migrate || update
	if have == nil {
		have = unseenValue
	}
	d.addDifference(nil, have)
}

// noteChange notes the difference at the current path for the merge patch, or that it takes an
// apply. A merge patch is as good where one scalar becomes another, below maps alone, and the
// manager's entries name that very field: then the API server merges the maps above key by key,
// and no key that others have added is to go. Both writes leave the field to the manager; the
// entry that holds it is that of operation Update after a patch.
func (d *comparison) noteChange(want, have any) {
	if !d.isOwn || !isScalar(want) || !isScalar(have) || slices.ContainsFunc(d.path, segment.isInList) {
		d.needsApply = true
		return
	}
	if d.changes == nil {
		d.changes = map[string]any{}
	}
	names := make([]string, len(d.path))
	for i, s := range d.path {
		names[i] = s.name
	}
	_ = unstructured.SetNestedField(d.changes, want, names...) // above it are only maps that were made here
}

// isInList reports whether a step of a path leads into a list.
func (s segment) isInList() bool { return s.index > 0 || s.key != nil || s.value != nil }

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}
