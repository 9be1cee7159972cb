package writeconflict

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// Children are the writes of an owner's children that others may undo. The zero value: there are none.
//
// There is one for each owner, mostly with one child, so that it is a list: a map takes twice as much.
type Children struct {
	list []childOf // each object once, in the order of their first writes
}

// childOf is what is remembered of an object.
type childOf struct {
	object inventory.ObjectKey
	child  *Child
}

// ChildOf returns what is remembered of the object that an action is about; nil: nothing. The caller may
// change it.
func (c *Children) ChildOf(action plan.Action) *Child {
	object := action.ObjectKey()
	i := slices.IndexFunc(c.list, func(e childOf) bool { return e.object == object })
	if i < 0 {
		return nil
	}
	return c.list[i].child
}

// forgetGone drops what is remembered of the objects that gone picks.
func (c *Children) forgetGone(gone func(childOf) bool) { c.list = slices.DeleteFunc(c.list, gone) }

// RecordWrite notes that a write of a child was accepted. What is deleted for good is no
// matter of conflict any more; nor is what was written so long ago that it stands.
func (c *Children) RecordWrite(action plan.Action, wait Wait, now time.Time) {
	c.forgetGone(func(e childOf) bool { return !e.child.reported && e.child.IsOver(now) })
	if action.Wanted == "" {
		c.ForgetChild(action)
		return
	}
	child := c.ChildOf(action)
	if child == nil {
		child = &Child{}
		c.list = append(c.list, childOf{action.ObjectKey(), child})
	}
	child.recordWrite(action, wait, now)
}

// ForgetChild drops what is remembered of the object that an action is about: it went with its kind,
// or with its namespace, and nobody has undone anything.
func (c *Children) ForgetChild(action plan.Action) {
	object := action.ObjectKey()
	c.forgetGone(func(e childOf) bool { return e.object == object })
}

// ForgetKinds drops what is remembered of children of the kinds that went; gone reports which did.
func (c *Children) ForgetKinds(gone func(schema.GroupKind) bool) {
	c.forgetGone(func(e childOf) bool { return gone(e.object.Kind) })
}

// IsEmpty reports whether nothing is remembered.
func (c *Children) IsEmpty() bool { return len(c.list) == 0 }

// StandingProblems returns what the owner says of the children that are fought over, between two
// writes as well, in the order of the messages; nil if there is none.
func (c *Children) StandingProblems(now time.Time) (list []plan.Problem) {
	for _, e := range c.list {
		if e.child.reported && !e.child.IsOver(now) {
			list = append(list, e.child.ConflictProblem())
		}
	}
	slices.SortFunc(list, func(a, b plan.Problem) int { return strings.Compare(a.Message, b.Message) })
	return list
}

// EndIfOver forgets the conflicts that were reported and are over, and returns the names of their
// objects, sorted. at is when the next one of the others that were reported may be over; zero: there
// is none.
func (c *Children) EndIfOver(now time.Time) (ended []string, at time.Time) {
	c.forgetGone(func(e childOf) bool {
		child := e.child
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
