package inventory

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func entry(kind, namespace, name string, rank int) Entry {
	return Entry{Child: "a", GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: namespace, Name: name, Rank: rank}
}

// TestUpdate: what is stored is found, and what is entered is known once.
func TestUpdate(t *testing.T) {
	object, place := entry("Pod", "one", "x", 0), entry("Pod", "two", "", 0)
	u := Update{}
	if _, ok := u.FindEntry(object.ObjectKey()); ok || u.HasPlace(placeOf(place)) {
		t.Error("an empty inventory has something")
	}
	u = Update{Stored: Stored{Inventory: Inventory{Entries: []Entry{object, place}}}}
	if found, ok := u.FindEntry(object.ObjectKey()); !ok || found != object {
		t.Errorf("the object is %v, %t", found, ok)
	}
	if _, ok := u.FindEntry(place.ObjectKey()); ok || !u.HasPlace(placeOf(place)) {
		t.Error("a place is no object")
	}
	if u.IsEntered(object) || u.IsEntered(place) {
		t.Error("nothing was entered yet")
	}
	u.AddObject(object)
	u.AddPlace(place)
	u.AddPlace(place)
	if !u.IsEntered(object) || !u.IsObjectEntered(object.ObjectKey()) || !u.IsEntered(place) || len(u.Next) != 2 {
		t.Errorf("entered are %v", u.Next)
	}
}

// TestChooseWaiting: so many sites are looked at together, those of high rank first, and those
// that can only be waited for do not hold up the others.
func TestChooseWaiting(t *testing.T) {
	entries := func(n int) (list []Entry) {
		for i := range n {
			list = append(list, entry("Pod", fmt.Sprintf("n%d", i), "x", i))
		}
		return list
	}
	none := func(Entry) bool { return false }
	for name, tc := range map[string]struct {
		reason  string
		entries []Entry
		wanted  map[Site]bool
		idle    func(Entry) bool
		waiting int
		waits   string // a namespace whose entries wait
	}{
		"Few":    {"as many as are looked at together", entries(MaxOtherSites), nil, none, 0, ""},
		"More":   {"the lowest rank waits", entries(MaxOtherSites + 1), nil, none, 1, "n0"},
		"Site":   {"entries of one site are looked at together", append(entries(MaxOtherSites), entry("Pod", "n3", "y", 0)), nil, none, 0, ""},
		"Wanted": {"where an object is wanted it is looked anyway", entries(MaxOtherSites + 1), map[Site]bool{SiteOf(entry("Pod", "n5", "", 0)): true}, none, 0, ""},
		"Idle":   {"half of them can only be waited for", entries(2 * MaxOtherSites), nil, func(e Entry) bool { return e.Rank%2 == 0 }, 0, ""},
		"Many":   {"more than both windows hold", entries(2*MaxOtherSites + 1), nil, func(Entry) bool { return true }, 1, "n0"},
	} {
		t.Run(name, func(t *testing.T) {
			var u Update
			u.ChooseWaiting(tc.entries, tc.wanted, tc.idle)
			if got := u.CountWaiting(); got != tc.waiting {
				t.Errorf("%s: %d wait, want %d", tc.reason, got, tc.waiting)
			}
			if tc.waits != "" && !u.IsWaiting(entry("Pod", tc.waits, "z", 0)) {
				t.Errorf("%s: %s does not wait", tc.reason, tc.waits)
			}
		})
	}
}
