package managedfields

import "strings"

// Ownership is one node of the manager's entries: which fields it owns below a path of the
// object, by the operation of the entry. Its maps are fieldsV1, as in
// {"f:spec": {"f:replicas": {}}}, belong to the live object and are not to be changed. Both are nil
// where nothing is known.
type Ownership struct{ Apply, Update map[string]any }

// OwnsNothing is a node of an entry that has nothing below it.
func OwnsNothing() Ownership { return Ownership{Update: map[string]any{}} }

// IsKnown reports whether an entry says anything here.
func (o Ownership) IsKnown() bool { return o.Apply != nil || o.Update != nil }

// OfField returns the node of a field. lost is true if there are entries and none has it.
// Nothing is known below a leaf: the API server takes the value as one.
func (o Ownership) OfField(name string) (below Ownership, lost bool) {
	if !o.IsKnown() {
		return Ownership{}, false
	}
	return o.ofElement("f:" + name)
}

func (o Ownership) ofElement(element string) (below Ownership, lost bool) {
	a, inApply := o.Apply[element]
	u, inUpdate := o.Update[element]
	if !inApply && !inUpdate {
		return Ownership{}, true
	}
	below.Apply, _ = a.(map[string]any)
	below.Update, _ = u.(map[string]any)
	if isLeaf(below.Apply) && isLeaf(below.Update) {
		return Ownership{}, false
	}
	return below, false
}

// isLeaf reports whether a node has nothing below it; "." stands for itself.
func isLeaf(node map[string]any) bool {
	_, self := node["."]
	return len(node) == 0 || self && len(node) == 1
}

// ListType is how the API server matches the items of a list.
type ListType int

// The types of lists: Atomic ones are matched as a whole, Keyed ones by keys of their items, Sets by values.
const (
	Atomic ListType = iota
	Keyed
	Set
)

// ListType returns how the items of the list that has this node are matched.
func (o Ownership) ListType() ListType {
	for element := range o.Elements {
		switch {
		case strings.HasPrefix(element, "k:"):
			return Keyed
		case strings.HasPrefix(element, "v:"):
			return Set
		}
	}
	return Atomic
}

// Elements yields each path element of the node once, in any order, and whether
// the Update entry has it.
func (o Ownership) Elements(yield func(element string, update bool) bool) {
	for element := range o.Update {
		if !yield(element, true) {
			return
		}
	}
	for element := range o.Apply {
		if _, both := o.Update[element]; !both && !yield(element, false) {
			return
		}
	}
}

// Item is one list item that the manager's entries name by its key.
type Item struct {
	Element string
	Key     []KeyField
	Own     Ownership
	Update  bool // the Update entry has it
}

// Items yields the items that the node names by key, in any order.
func (o Ownership) Items(yield func(Item) bool) {
	for element, update := range o.Elements {
		key, ok := parseKey(element)
		if !ok {
			continue
		}
		below, _ := o.ofElement(element)
		if !yield(Item{Element: element, Key: key, Own: below, Update: update}) {
			return
		}
	}
}
