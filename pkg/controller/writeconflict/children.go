package writeconflict

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// Children are the writes of an owner's children that others may undo, by object. The zero value:
// there are none.
type Children struct {
	byObject map[inventory.ObjectKey]*Child
}

// ChildOf returns what is remembered of the object that an action is about; nil: nothing. The caller may
// change it.
func (c *Children) ChildOf(action plan.Action) *Child { return c.byObject[action.ObjectKey()] }

// RecordWrite notes that a write of a child was accepted. What is deleted for good is no
// matter of conflict any more; nor is what was written so long ago that it stands.
func (c *Children) RecordWrite(action plan.Action, wait Wait, now time.Time) {
	maps.DeleteFunc(c.byObject, func(_ inventory.ObjectKey, child *Child) bool { return !child.reported && child.IsOver(now) })
	key := action.ObjectKey()
	if action.Wanted == "" {
		delete(c.byObject, key)
		return
	}
	if c.byObject == nil {
		c.byObject = map[inventory.ObjectKey]*Child{}
	}
	if c.byObject[key] == nil {
		c.byObject[key] = &Child{}
	}
	c.byObject[key].recordWrite(action, wait, now)
}

// ForgetChild drops what is remembered of the object that an action is about: it went with its kind,
// or with its namespace, and nobody has undone anything.
func (c *Children) ForgetChild(action plan.Action) { delete(c.byObject, action.ObjectKey()) }

// ForgetKinds drops what is remembered of children of the kinds that went; gone reports which did.
func (c *Children) ForgetKinds(gone func(schema.GroupKind) bool) {
	maps.DeleteFunc(c.byObject, func(key inventory.ObjectKey, _ *Child) bool { return gone(key.Kind) })
}

// IsEmpty reports whether nothing is remembered.
func (c *Children) IsEmpty() bool { return len(c.byObject) == 0 }

// StandingProblems returns what the owner says of the children that are fought over, between two
// writes as well, in the order of the messages; nil if there is none.
func (c *Children) StandingProblems(now time.Time) (list []plan.Problem) {
	for _, child := range c.byObject {
		if child.reported && !child.IsOver(now) {
			list = append(list, child.Problem())
		}
	}
	slices.SortFunc(list, func(a, b plan.Problem) int { return strings.Compare(a.Message, b.Message) })
	return list
}

// EndIfOver forgets the conflicts that were reported and are over, and returns the names of their
// objects, sorted. at is when the next one of the others that were reported may be over; zero: there
// is none.
func (c *Children) EndIfOver(now time.Time) (ended []string, at time.Time) {
	maps.DeleteFunc(c.byObject, func(_ inventory.ObjectKey, child *Child) bool {
		switch {
		case !child.reported:
			return false
		case child.IsOver(now):
			ended = append(ended, child.Name)
			return true
		}
		if over := child.wrote.Add(Over); at.IsZero() || over.Before(at) {
			at = over
		}
		return false
	})
	slices.Sort(ended)
	return ended, at
}
