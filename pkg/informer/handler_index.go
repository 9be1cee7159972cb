package informer

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// handlerIndex holds the handlers of one informer. Finding those of an object costs the
// same with ten and with ten thousand of them, and allocates nothing.
type handlerIndex struct {
	count         int        // needs attached
	ofEveryObject handlerSet // who gets everything
	byLabel       map[string]map[string]*handlerSet
	byName        map[types.NamespacedName]*handlerSet
	ofNames       handlerSet // who is in byName, or would be if it had named any
}

// add attaches a need. Names without a namespace are in the given one.
func (r *handlerIndex) add(sub EventHandler, p subset, namespace string) {
	r.count++
	switch {
	case p.isByName():
		r.addNames(sub, p.names, namespace)
	case p.label != "":
		r.addLabel(sub, p.label, p.value)
	default:
		r.ofEveryObject.add(sub)
	}
}

func (r *handlerIndex) addNames(sub EventHandler, n names, namespace string) {
	r.ofNames.add(sub)
	if r.byName == nil {
		r.byName = map[types.NamespacedName]*handlerSet{}
	}
	for name := range n.all(namespace) {
		if r.byName[name] == nil {
			r.byName[name] = &handlerSet{}
		}
		r.byName[name].add(sub)
	}
}

func (r *handlerIndex) addLabel(sub EventHandler, label, value string) {
	if r.byLabel == nil {
		r.byLabel = map[string]map[string]*handlerSet{}
	}
	if r.byLabel[label] == nil {
		r.byLabel[label] = map[string]*handlerSet{}
	}
	if r.byLabel[label][value] == nil {
		r.byLabel[label][value] = &handlerSet{}
	}
	r.byLabel[label][value].add(sub)
}

func (r *handlerIndex) remove(sub EventHandler, p subset, namespace string) {
	r.count--
	switch {
	case p.isByName():
		r.removeNames(sub, p.names, namespace)
	case p.label != "":
		r.removeLabel(sub, p.label, p.value)
	default:
		r.ofEveryObject.remove(sub)
	}
}

func (r *handlerIndex) removeNames(sub EventHandler, n names, namespace string) {
	r.ofNames.remove(sub)
	for name := range n.all(namespace) {
		r.byName[name].remove(sub)
		if r.byName[name].isEmpty() {
			delete(r.byName, name)
		}
	}
}

func (r *handlerIndex) removeLabel(sub EventHandler, label, value string) {
	values := r.byLabel[label]
	values[value].remove(sub)
	if values[value].isEmpty() {
		delete(values, value)
	}
	if len(values) == 0 {
		delete(r.byLabel, label)
	}
}

// handlersOf appends the handlers that have to be notified of a change. Either object may be nil; they are of
// one name. One handler may come twice if it has two needs in the informer.
func (r *handlerIndex) handlersOf(to []EventHandler, object, old *unstructured.Unstructured) []EventHandler {
	to = r.ofEveryObject.appendTo(to)
	if len(r.byName) > 0 {
		to = r.byName[nameOf(cmp.Or(object, old))].appendTo(to)
	}
	for label, values := range r.byLabel {
		now, isNow := labelOf(object, label)
		was, hasBeen := labelOf(old, label)
		if isNow {
			to = values[now].appendTo(to)
		}
		if hasBeen && !(isNow && was == now) {
			to = values[was].appendTo(to)
		}
	}
	return to
}

// allHandlers appends all handlers.
func (r *handlerIndex) allHandlers(to []EventHandler) []EventHandler {
	to = slices.Grow(to, r.count)
	to = r.ofEveryObject.appendTo(to)
	to = r.ofNames.appendTo(to)
	for _, values := range r.byLabel {
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
type handlerSet struct {
	few  []EventHandler
	many map[EventHandler]int
}

const fewHandlers = 8

func (b *handlerSet) add(sub EventHandler) {
	if b.many == nil && len(b.few) < fewHandlers {
		b.few = append(b.few, sub)
		return
	}
	if b.many == nil {
		b.many = make(map[EventHandler]int, 2*fewHandlers)
		for _, s := range b.few {
			b.many[s]++
		}
		b.few = nil
	}
	b.many[sub]++
}

func (b *handlerSet) remove(sub EventHandler) {
	if n := b.many[sub]; n > 1 {
		b.many[sub] = n - 1
		return
	}
	delete(b.many, sub)
	if i := slices.Index(b.few, sub); i >= 0 {
		b.few = slices.Delete(b.few, i, i+1)
	}
}

func (b *handlerSet) isEmpty() bool { return len(b.few) == 0 && len(b.many) == 0 }

func (b *handlerSet) appendTo(to []EventHandler) []EventHandler {
	if b == nil {
		return to
	}
	to = append(to, b.few...)
	for sub := range b.many {
		to = append(to, sub)
	}
	return to
}

// labelOf returns a label of an object, without copying the labels. A nil object
// has none.
func labelOf(object *unstructured.Unstructured, label string) (string, bool) {
	if object == nil {
		return "", false
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	value, ok := labels[label].(string)
	return value, ok
}

// hasLabel reports whether an object has a label with a value.
func hasLabel(object *unstructured.Unstructured, label, value string) bool {
	have, ok := labelOf(object, label)
	return ok && have == value
}
