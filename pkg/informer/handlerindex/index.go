// Package handlerindex finds the handlers that a change of an object concerns, and costs the
// same with ten and with ten thousand of them.
package handlerindex

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

// Index holds the handlers of one informer, each with the Subset of objects that it asked
// for. Looking them up allocates nothing. The zero Index is empty. It is not safe for
// concurrent use.
type Index[H comparable] struct {
	needs         int           // added and not removed
	ofEveryObject handlerSet[H] // who gets everything
	byLabel       map[string]map[string]*handlerSet[H]
	byName        map[types.NamespacedName]*handlerSet[H]
	ofNames       handlerSet[H] // who is in byName, or would be if it had named any
}

// Needs returns how many needs were added and not removed.
func (x *Index[H]) Needs() int { return x.needs }

// HasLabel reports whether a handler asked for a value of a label.
func (x *Index[H]) HasLabel(label string) bool {
	_, ok := x.byLabel[label]
	return ok
}

// Add attaches a need of a handler.
func (x *Index[H]) Add(handler H, p objectstore.Subset) {
	x.needs++
	switch {
	case p.IsByName():
		x.addNames(handler, p)
	case p.Label != "":
		x.addLabel(handler, p.Label, p.Value)
	default:
		x.ofEveryObject.add(handler)
	}
}

func (x *Index[H]) addNames(handler H, p objectstore.Subset) {
	x.ofNames.add(handler)
	if x.byName == nil {
		x.byName = map[types.NamespacedName]*handlerSet[H]{}
	}
	for name := range p.Names() {
		if x.byName[name] == nil {
			x.byName[name] = &handlerSet[H]{}
		}
		x.byName[name].add(handler)
	}
}

func (x *Index[H]) addLabel(handler H, label, value string) {
	if x.byLabel == nil {
		x.byLabel = map[string]map[string]*handlerSet[H]{}
	}
	if x.byLabel[label] == nil {
		x.byLabel[label] = map[string]*handlerSet[H]{}
	}
	if x.byLabel[label][value] == nil {
		x.byLabel[label][value] = &handlerSet[H]{}
	}
	x.byLabel[label][value].add(handler)
}

// Remove detaches a need that was added.
func (x *Index[H]) Remove(handler H, p objectstore.Subset) {
	x.needs--
	switch {
	case p.IsByName():
		x.removeNames(handler, p)
	case p.Label != "":
		x.removeLabel(handler, p.Label, p.Value)
	default:
		x.ofEveryObject.remove(handler)
	}
}

func (x *Index[H]) removeNames(handler H, p objectstore.Subset) {
	x.ofNames.remove(handler)
	for name := range p.Names() {
		x.byName[name].remove(handler)
		if x.byName[name].isEmpty() {
			delete(x.byName, name)
		}
	}
}

func (x *Index[H]) removeLabel(handler H, label, value string) {
	values := x.byLabel[label]
	values[value].remove(handler)
	if values[value].isEmpty() {
		delete(values, value)
	}
	if len(values) == 0 {
		delete(x.byLabel, label)
	}
}

// HandlersOf appends the handlers that a change concerns. One handler may come twice if it has two
// needs in the informer.
func (x *Index[H]) HandlersOf(to []H, c objectstore.Change) []H {
	to = x.ofEveryObject.appendTo(to)
	if len(x.byName) > 0 {
		to = x.byName[objectstore.NameOf(cmp.Or(c.New, c.Old))].appendTo(to)
	}
	for label, values := range x.byLabel {
		now, isNow := objectstore.LabelOf(c.New, label)
		was, hasBeen := objectstore.LabelOf(c.Old, label)
		if isNow {
			to = values[now].appendTo(to)
		}
		if hasBeen && !(isNow && was == now) {
			to = values[was].appendTo(to)
		}
	}
	return to
}

// AllHandlers appends all handlers.
func (x *Index[H]) AllHandlers(to []H) []H {
	to = slices.Grow(to, x.needs)
	to = x.ofEveryObject.appendTo(to)
	to = x.ofNames.appendTo(to)
	for _, values := range x.byLabel {
		for _, b := range values {
			to = b.appendTo(to)
		}
	}
	return to
}

// handlerSet counts handlers. It mostly holds one, so that a slice is smaller than a map; a
// map when there are many, so that leaving stays cheap. One that was added twice
// stays until it is removed twice: two of its needs may have a name in common. A
// nil handlerSet is empty.
type handlerSet[H comparable] struct {
	few  []H
	many map[H]int
}

// FewHandlers is how many handlers are few: those of most objects.
const FewHandlers = 8

func (b *handlerSet[H]) add(handler H) {
	if b.many == nil && len(b.few) < FewHandlers {
		b.few = append(b.few, handler)
		return
	}
	if b.many == nil {
		b.many = make(map[H]int, 2*FewHandlers)
		for _, h := range b.few {
			b.many[h]++
		}
		b.few = nil
	}
	b.many[handler]++
}

func (b *handlerSet[H]) remove(handler H) {
	if n := b.many[handler]; n > 1 {
		b.many[handler] = n - 1
		return
	}
	delete(b.many, handler)
	if i := slices.Index(b.few, handler); i >= 0 {
		b.few = slices.Delete(b.few, i, i+1)
	}
}

func (b *handlerSet[H]) isEmpty() bool { return len(b.few) == 0 && len(b.many) == 0 }

func (b *handlerSet[H]) appendTo(to []H) []H {
	if b == nil {
		return to
	}
	to = append(to, b.few...)
	for handler := range b.many {
		to = append(to, handler)
	}
	return to
}
