package owners

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Phase is where an owner is in its life; doc.go has the diagram.
type Phase int

// The phases of an owner.
const (
	Unknown Phase = iota
	Inherited
	Served
	Inspected
	Blind
	CleaningUp
	Clean
	Missing
	Deselected
)

// String returns the name of the phase.
func (p Phase) String() string {
	return [...]string{"Unknown", "Inherited", "Served", "Inspected", "Blind", "CleaningUp", "Clean", "Missing", "Deselected"}[p]
}

// record are the facts about one owner. The zero value says that nothing is known.
type record[W any] struct {
	// work is what is remembered of an owner that this revision works on, and uid is its uid;
	// nil: it does not.
	work *W
	uid  types.UID
	// inherited is the uid of the owner that an older revision worked on, until this one has
	// looked at it.
	inherited types.UID
	// unwanted is nil unless the policy does not want the owner, missing unless the stream of
	// owners does not show it, and it was worked on.
	unwanted *unwanted
	missing  *missing
}

// unwanted is what is known of an owner that the policy does not want.
type unwanted struct {
	uid types.UID
	// looked: it is known whether there is something of ours for it, which is ours.
	looked, ours bool
	// blind is what did not permit to look at everything; nil: nothing.
	blind any
}

// missing is what is known of an owner that was worked on, by this run or an earlier one, and is
// not in the stream of owners.
type missing struct {
	uid types.UID
	// found is the owner as it was found by its name; nil: it was not yet.
	found *unstructured.Unstructured
}

// currentPhase returns the phase that follows from the facts.
func (r *record[W]) currentPhase() Phase {
	switch u := r.unwanted; {
	case r.missing != nil && r.missing.found != nil:
		return Deselected
	case r.missing != nil:
		return Missing
	case u != nil && (r.work != nil || r.inherited == u.uid || u.ours):
		return CleaningUp
	case u != nil && u.looked:
		return Clean
	case u != nil && u.blind != nil:
		return Blind
	case u != nil:
		return Inspected
	case r.work != nil:
		return Served
	case r.inherited != "":
		return Inherited
	}
	return Unknown
}

// isEmpty reports whether nothing is known of the owner.
func (r *record[W]) isEmpty() bool { return *r == record[W]{} }
