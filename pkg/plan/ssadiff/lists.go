package ssadiff

import (
	"cmp"
	"slices"

	"github.com/ambit-dev/ambit/pkg/plan/managedfields"
)

// compareLists compares by key, by value, or by position, as the manager's entries have it.
func (d *comparison) compareLists(want, have []any, own managedfields.Ownership) {
	switch own.ListType() {
	case managedfields.Keyed:
		if d.compareByKey(want, have, own) {
			return
		}
	case managedfields.Set:
		d.compareSet(want, have, own)
		return
	}
	d.compareByPosition(want, have)
}

func (d *comparison) compareByPosition(want, have []any) {
	if len(want) == 0 {
		return
	}
	if len(want) != len(have) {
		d.addDifference(want, have)
		return
	}
	for i := range want {
		d.pushSegment(segment{index: i + 1})
		d.compareValue(want[i], have[i], managedfields.Ownership{})
		d.popSegment()
	}
}

func (d *comparison) compareSet(want, have []any, own managedfields.Ownership) {
	for _, w := range want {
		if !containsScalar(have, w) {
			d.pushSegment(segment{value: w})
			before := d.lost
			d.lost = before || own.IsKnown()
			d.addDifference(w, nil)
			d.lost = before
			d.popSegment()
		}
	}
	for element, update := range own.Elements {
		v, ok := managedfields.ParseSetValue(element)
		if !ok || containsScalar(want, v) {
			continue
		}
		d.pushSegment(segment{value: v})
		d.addRemoved(v, update)
		d.popSegment()
	}
}

// listItem is one list item of the manager's entries, and whether a desired item is the same one.
type listItem struct {
	managedfields.Item
	wanted bool
}

// compareByKey compares a list whose items have keys. It returns false, having noted
// nothing, if the desired items are not maps.
func (d *comparison) compareByKey(want, have []any, own managedfields.Ownership) bool {
	var items []listItem
	for item := range own.Items {
		items = append(items, listItem{Item: item})
	}
	if len(items) == 0 || !allMaps(want) {
		return false
	}
	slices.SortFunc(items, func(a, b listItem) int { return cmp.Compare(a.Element, b.Element) })
	var buffer [8]int
	match := matchItems(want, items, buffer[:0])
	for i := range want {
		d.compareItem(want[i].(map[string]any), have, items, match[i])
	}
	for i := range items {
		if it := &items[i]; !it.wanted {
			d.pushSegment(segment{key: it.Key})
			d.addRemoved(firstItem(itemsWithKey(have, it.Key)), it.Update)
			d.popSegment()
		}
	}
	return true
}

// compareItem compares one desired item with the live one of its key: the key in our
// entries (items[match]) or, if it has none there, the one it carries itself.
func (d *comparison) compareItem(want map[string]any, have []any, items []listItem, match int) {
	var key []managedfields.KeyField
	var own managedfields.Ownership
	if match >= 0 {
		key, own = items[match].Key, items[match].Own
	} else {
		key = ownKey(want, items[0].Key)
	}
	before := d.lost
	d.lost = before || match < 0
	d.pushSegment(segment{key: key})
	if live := itemsWithKey(have, key); len(live) == 0 {
		d.addDifference(want, nil)
	} else {
		d.compareBestItem(want, live, own)
	}
	d.popSegment()
	d.lost = before
}

// compareBestItem compares with the live item that differs least: a projected live list may
// have several items that cannot be told apart by their keys.
func (d *comparison) compareBestItem(want map[string]any, live []map[string]any, own managedfields.Ownership) {
	for i := range live[:len(live)-1] {
		trial := comparison{secret: d.secret, path: slices.Clone(d.path)}
		trial.compareValue(want, live[i], own)
		if len(trial.found) == 0 {
			d.migrate, d.extras = d.migrate || trial.migrate, d.extras || trial.extras
			return
		}
	}
	d.compareValue(want, live[len(live)-1], own)
}

// matchItems returns for each desired item the index of the item in the manager's entries
// that is the same one, or -1; and marks those. A key field that the desired item
// does not set is one that the API server has a default for. Items that set more
// of their key choose first.
func matchItems(want []any, items []listItem, match []int) []int {
	for range want {
		match = append(match, -1)
	}
	for absent := 0; absent < len(items[0].Key)+1; absent++ {
		for i := range want {
			if match[i] >= 0 {
				continue
			}
			match[i] = slices.IndexFunc(items, func(it listItem) bool {
				return !it.wanted && countAbsent(want[i].(map[string]any), it.Key) == absent
			})
			if match[i] >= 0 {
				items[match[i]].wanted = true
			}
		}
	}
	return match
}

// countAbsent returns how many of the key's fields m does not have, or -1 if it has
// another value for one.
func countAbsent(m map[string]any, key []managedfields.KeyField) (absent int) {
	for _, k := range key {
		v, ok := m[k.Name]
		switch {
		case !ok:
			absent++
		case !equalScalar(k.Value, v):
			return -1
		}
	}
	return absent
}

// itemsWithKey returns the live items that may have the key: at least one field of
// it, and no other value for any.
func itemsWithKey(have []any, key []managedfields.KeyField) []map[string]any {
	var found []map[string]any
	for _, h := range have {
		m, ok := h.(map[string]any)
		if !ok {
			continue
		}
		if absent := countAbsent(m, key); absent >= 0 && absent < len(key) {
			found = append(found, m)
		}
	}
	return found
}

// ownKey returns the fields of the key that m has, with m's values.
func ownKey(m map[string]any, like []managedfields.KeyField) []managedfields.KeyField {
	var key []managedfields.KeyField
	for _, k := range like {
		if v, ok := m[k.Name]; ok {
			key = append(key, managedfields.KeyField{Name: k.Name, Value: v})
		}
	}
	return key
}

func allMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(map[string]any); return !ok })
}

func firstItem(items []map[string]any) any {
	if len(items) == 0 {
		return nil
	}
	return items[0]
}

func containsScalar(list []any, v any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return equalScalar(e, v) })
}
