package informer

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// routes are the subscribers of one stream. Finding those of an object costs the
// same with ten and with ten thousand of them, and allocates nothing.
type routes struct {
	count   int    // needs attached
	all     bucket // who gets everything
	byLabel map[string]map[string]*bucket
	byName  map[types.NamespacedName]*bucket
	named   bucket // who is in byName, or would be if it had named any
}

// add attaches a need. Names without a namespace are in the given one.
func (r *routes) add(sub EventHandler, p part, namespace string) {
	r.count++
	switch {
	case p.byName():
		r.addNames(sub, p.names, namespace)
	case p.label != "":
		r.addLabel(sub, p.label, p.value)
	default:
		r.all.add(sub)
	}
}

func (r *routes) addNames(sub EventHandler, n names, namespace string) {
	r.named.add(sub)
	if r.byName == nil {
		r.byName = map[types.NamespacedName]*bucket{}
	}
	for name := range n.all(namespace) {
		if r.byName[name] == nil {
			r.byName[name] = &bucket{}
		}
		r.byName[name].add(sub)
	}
}

func (r *routes) addLabel(sub EventHandler, label, value string) {
	if r.byLabel == nil {
		r.byLabel = map[string]map[string]*bucket{}
	}
	if r.byLabel[label] == nil {
		r.byLabel[label] = map[string]*bucket{}
	}
	if r.byLabel[label][value] == nil {
		r.byLabel[label][value] = &bucket{}
	}
	r.byLabel[label][value].add(sub)
}

func (r *routes) remove(sub EventHandler, p part, namespace string) {
	r.count--
	switch {
	case p.byName():
		r.removeNames(sub, p.names, namespace)
	case p.label != "":
		r.removeLabel(sub, p.label, p.value)
	default:
		r.all.remove(sub)
	}
}

func (r *routes) removeNames(sub EventHandler, n names, namespace string) {
	r.named.remove(sub)
	for name := range n.all(namespace) {
		r.byName[name].remove(sub)
		if r.byName[name].empty() {
			delete(r.byName, name)
		}
	}
}

func (r *routes) removeLabel(sub EventHandler, label, value string) {
	values := r.byLabel[label]
	values[value].remove(sub)
	if values[value].empty() {
		delete(values, value)
	}
	if len(values) == 0 {
		delete(r.byLabel, label)
	}
}

// find appends who is to be told of a change. Either object may be nil; they are of
// one name. One subscriber may come twice if it has two needs in the stream.
func (r *routes) find(to []EventHandler, object, old *unstructured.Unstructured) []EventHandler {
	to = r.all.appendTo(to)
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

// everybody appends all subscribers.
func (r *routes) everybody(to []EventHandler) []EventHandler {
	to = slices.Grow(to, r.count)
	to = r.all.appendTo(to)
	to = r.named.appendTo(to)
	for _, values := range r.byLabel {
		for _, b := range values {
			to = b.appendTo(to)
		}
	}
	return to
}

// bucket counts subscribers: mostly one, so that a slice is smaller than a map; a
// map when there are many, so that leaving stays cheap. One that was added twice
// stays until it is removed twice: two of its needs may have a name in common. A
// nil bucket is empty.
type bucket struct {
	few  []EventHandler
	many map[EventHandler]int
}

const fewSubscribers = 8

func (b *bucket) add(sub EventHandler) {
	if b.many == nil && len(b.few) < fewSubscribers {
		b.few = append(b.few, sub)
		return
	}
	if b.many == nil {
		b.many = make(map[EventHandler]int, 2*fewSubscribers)
		for _, s := range b.few {
			b.many[s]++
		}
		b.few = nil
	}
	b.many[sub]++
}

func (b *bucket) remove(sub EventHandler) {
	if n := b.many[sub]; n > 1 {
		b.many[sub] = n - 1
		return
	}
	delete(b.many, sub)
	if i := slices.Index(b.few, sub); i >= 0 {
		b.few = slices.Delete(b.few, i, i+1)
	}
}

func (b *bucket) empty() bool { return len(b.few) == 0 && len(b.many) == 0 }

func (b *bucket) appendTo(to []EventHandler) []EventHandler {
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

// carries says whether an object has a label with a value.
func carries(object *unstructured.Unstructured, label, value string) bool {
	have, ok := labelOf(object, label)
	return ok && have == value
}
