package inventory

import "k8s.io/apimachinery/pkg/runtime/schema"

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
