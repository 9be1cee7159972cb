package inventory

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Update is what the owner's metadata says of its children, and what it has to say. It is made
// while one plan is; it belongs to one goroutine.
type Update struct {
	// Stored is the inventory as it is on the owner.
	Stored
	// index finds the objects of Stored by name, and places has its places; both are made
	// when they are first needed.
	index  map[ObjectKey]int
	places map[Place]bool
	// Next are the entries to be: those of wanted objects and places, which entered and
	// enteredPlaces have, and those that stay.
	Next          []Entry
	entered       map[ObjectKey]bool
	enteredPlaces map[Place]bool
	// WantsFinalizer: the finalizer has to be there.
	WantsFinalizer bool
	// waiting are the sites that are not looked at yet.
	waiting map[Site]bool
}

// Place is what an entry that is a place stands for. It is comparable.
type Place struct {
	Child, Namespace string
	Kind             schema.GroupKind
}

func placeOf(e Entry) Place {
	return Place{Child: e.Child, Namespace: e.Namespace, Kind: e.GVK.GroupKind()}
}

// Site is what it costs something to look at for an entry. It is comparable.
type Site struct {
	Kind      schema.GroupKind
	Namespace string
	Merged    bool
}

// SiteOf returns the site of an entry.
func SiteOf(e Entry) Site {
	return Site{Kind: e.GVK.GroupKind(), Namespace: e.Namespace, Merged: e.Merged}
}

// FindEntry finds an object in the inventory as it is.
func (u *Update) FindEntry(key ObjectKey) (Entry, bool) {
	if len(u.Entries) == 0 {
		return Entry{}, false
	}
	if u.index == nil {
		u.index = make(map[ObjectKey]int, len(u.Entries))
		for i, e := range u.Entries {
			if !e.IsPlace() {
				u.index[e.ObjectKey()] = i
			}
		}
	}
	i, ok := u.index[key]
	if !ok {
		return Entry{}, false
	}
	return u.Entries[i], true
}

// HasPlace reports whether the inventory says to look for a child in a namespace.
func (u *Update) HasPlace(wanted Place) bool {
	if u.places == nil {
		u.places = map[Place]bool{}
		for _, e := range u.Entries {
			if e.IsPlace() {
				u.places[placeOf(e)] = true
			}
		}
	}
	return u.places[wanted]
}

// AddObject enters a wanted object.
func (u *Update) AddObject(e Entry) {
	if u.entered == nil {
		u.entered = map[ObjectKey]bool{}
	}
	u.entered[e.ObjectKey()] = true
	u.Next = append(u.Next, e)
}

// AddPlace enters a wanted place, once.
func (u *Update) AddPlace(e Entry) {
	if u.enteredPlaces[placeOf(e)] {
		return
	}
	if u.enteredPlaces == nil {
		u.enteredPlaces = map[Place]bool{}
	}
	u.enteredPlaces[placeOf(e)] = true
	u.Next = append(u.Next, e)
}

// IsEntered reports whether the object or place of an entry of the inventory was entered.
func (u *Update) IsEntered(e Entry) bool {
	if e.IsPlace() {
		return u.enteredPlaces[placeOf(e)]
	}
	return u.entered[e.ObjectKey()]
}

// IsObjectEntered reports whether an object was entered.
func (u *Update) IsObjectEntered(key ObjectKey) bool { return u.entered[key] }

// IsWaiting reports whether an entry stays as it is for now, because too many others are looked
// at.
func (u *Update) IsWaiting(e Entry) bool { return u.waiting[SiteOf(e)] }

// CountWaiting returns how many sites are not looked at yet.
func (u *Update) CountWaiting() int { return len(u.waiting) }

// MaxOtherSites is how many sites are looked at together that the program would not have
// written. The others wait until one of them is found empty. As many more are looked at of those
// that can only be waited for: they do not hold up the others.
const MaxOtherSites = 16

// ChooseWaiting decides which of some entries wait: those of sites that the program would not
// have written. Such an entry may be of an earlier revision of the policy, or made up: nothing
// tells before its site is looked at. So a few such sites are looked at together, in the order
// in which their objects are removed. A site in which an object is wanted never waits; isIdle
// reports whether an entry can only be waited for.
func (u *Update) ChooseWaiting(others []Entry, wanted map[Site]bool, isIdle func(Entry) bool) {
	others = slices.Clone(others)
	slices.SortStableFunc(others, func(a, b Entry) int { return -cmp.Compare(a.Rank, b.Rank) })
	u.waiting = map[Site]bool{}
	idle, looked := idleSites(others, isIdle), map[Site]bool{}
	var busyOnes, idleOnes int
	for _, e := range others {
		s := SiteOf(e)
		switch {
		case wanted[s] || looked[s] || u.waiting[s]:
		case idle[s] && idleOnes < MaxOtherSites:
			idleOnes++
			looked[s] = true
		case busyOnes < MaxOtherSites:
			busyOnes++
			looked[s] = true
		default:
			u.waiting[s] = true
		}
	}
}

// idleSites returns the sites of entries in which there is nothing to do but to wait.
func idleSites(entries []Entry, isIdle func(Entry) bool) map[Site]bool {
	idle := map[Site]bool{}
	for _, e := range entries {
		s := SiteOf(e)
		before, known := idle[s]
		idle[s] = (before || !known) && isIdle(e)
	}
	return idle
}
