package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// namespaceList subscribes to the list of namespaces, and to the right to see it.
// It is comparable.
type namespaceList struct{ operator *operator }

var _ informer.EventHandler = namespaceList{}

// Changed implements informer.EventHandler.
func (n namespaceList) Changed(event informer.Event) {
	if isRefused(event) {
		n.operator.engine.options.Access.ReportDenied(n.operator.everywhere(), access.Access{Verb: "watch", Resource: namespaces.Resource})
	}
	n.operator.engine.enqueue(Key{Policy: n.operator.id})
}

// namespaceRights is a namespaceList as a subscriber of rights.
type namespaceRights namespaceList

var _ access.ChangeHandler = namespaceRights{}

// Changed implements access.ChangeHandler.
func (n namespaceRights) Changed(access.Key) { n.operator.engine.enqueue(Key{Policy: n.operator.id}) }

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func (op *operator) everywhere() access.Key { return access.Key{Identity: op.identity} }

// spaces are the namespaces there are, by name, until they are gone: in one that is
// being deleted there may be owners that only we let go. It is not changed: another
// list is another pointer.
type spaces map[string]labels.Set

// names are those that keep wants, sorted, never nil.
func (s *spaces) names(keep func(name string) bool) []string {
	names := []string{}
	for name := range *s {
		if keep(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// listNamespaces returns the namespaces there are; or nil if they may not be listed
// and watched; or false while that is not known. They are watched from then on, until
// forgetNamespaces. It is called on the policy's own turn.
func (op *operator) listNamespaces() (list *spaces, known bool) {
	op.listing = true
	rights := op.engine.options.Access
	wanted := reading(namespaces.GroupResource())
	rights.Require(namespaceRights{op}, op.everywhere(), wanted, access.Payer{Group: op.id})
	switch all, _ := decide(rights, op.everywhere(), wanted); all {
	case access.Denied:
		op.engine.options.Informers.Require(namespaceList{op}, nil)
		return nil, true
	case access.Unknown:
		return nil, false
	}
	views := op.engine.options.Informers.Require(namespaceList{op}, []informer.Interest{{
		Key: informer.Key{Identity: op.identity, GVR: namespaces, Form: informer.Form{Metadata: true}},
	}})
	listed, status := views[0].Read()
	if !status.Synced {
		return nil, false
	}
	found := make(spaces, len(listed))
	for _, namespace := range listed {
		found[namespace.GetName()] = namespace.GetLabels()
	}
	return &found, true
}

// known are the namespaces in which owners are looked for one by one.
func (op *operator) known() []string {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.candidates
}

// followNamespaces keeps the list of namespaces for owners that look for objects in
// all of them, one by one; or gives it back if nobody has asked for it on this turn.
func (op *operator) followNamespaces() {
	var now *spaces
	if op.seeking() || op.succeeding.Load() && op.spaces.Load() != nil { // as the version before
		now, _ = op.listNamespaces()
	}
	if !op.listing {
		op.forgetNamespaces()
	}
	before := op.spaces.Load()
	isSame := before == now || before != nil && now != nil && slices.Equal(before.names(op.inScope), now.names(op.inScope))
	if !isSame {
		op.spaces.Store(now)
		op.anew.Store(true)
	}
}

// seeking says whether an owner looks for objects in each namespace, because they may
// not be watched in all of them together, and no namespaces are named.
func (op *operator) seeking() bool {
	if len(scopeOf(op.program.Namespaces, op.engine.options.Namespaces)) > 0 {
		return false
	}
	op.mu.Lock()
	used := op.uses.at(allNamespaces)
	op.mu.Unlock()
	return slices.ContainsFunc(used, func(w use) bool { return w.optional && op.isDeniedEverywhere(w.part) })
}

// isDeniedEverywhere says whether a watch for objects in all namespaces has to look in
// each of them.
func (op *operator) isDeniedEverywhere(id string) bool {
	i := slices.IndexFunc(op.program.Watches, func(w *policy.Watch) bool { return w.ID == id && w.AllNamespaces })
	if i < 0 {
		return false
	}
	found, ok, _ := op.engine.discovery.Lookup(op.program.Watches[i].GVK)
	r, asked := op.answer(allNamespaces)
	return ok && asked && (op.program.NamespaceSelector != nil || !r.mayWatch(found.GVR.GroupResource()) || op.wasDenied(found.GVR.GroupResource()))
}

// searched are the namespaces in which a watch for objects in all namespaces looks,
// one by one, as of the layout; false: that is not known.
func (l *layout) searched() (names []string, known bool) {
	if named := scopeOf(l.program.Namespaces, l.engine.options.Namespaces); len(named) > 0 && l.program.NamespaceSelector == nil {
		return slices.DeleteFunc(named, func(n string) bool { return slices.Contains(l.program.Exclude, n) }), true
	}
	if selected := l.s.inside; selected != nil {
		return *selected, true
	}
	if list := l.s.spaces; list != nil {
		return list.names(func(name string) bool { return l.isSelected(name, (*list)[name]) }), true
	}
	return nil, false
}

// forgetNamespaces gives back what listNamespaces needed.
func (op *operator) forgetNamespaces() {
	op.engine.options.Informers.Require(namespaceList{op}, nil)
	op.engine.options.Access.Require(namespaceRights{op}, op.everywhere(), nil, access.Payer{})
}

// selected are the namespaces of a scope with a selector: those that are named go on
// while the list is not to be had. Those that are no longer selected stay as long as
// there are owners to retire.
func (op *operator) selected() (candidates []string, problem *plan.Problem, done *territory) {
	listed, known := op.listNamespaces()
	switch {
	case !known && op.known() == nil:
		return nil, nil, &territory{undecided: []string{allNamespaces}}
	case !known:
		return op.known(), nil, nil
	case listed == nil:
		resource := namespaces.GroupResource()
		_, missed := decide(op.engine.options.Access, op.everywhere(), reading(resource))
		denied := op.forbidden(missing{resource: resource, verbs: verbsOf(missed)}, allNamespaces)
		denied.Message += ": spec.scope.namespaceSelector cannot be followed"
		return op.known(), &denied, nil
	}
	names := listed.names(func(name string) bool { return op.isSelected(name, (*listed)[name]) })
	if before := op.inside.Load(); before == nil || !slices.Equal(*before, names) {
		op.inside.Store(&names)
		op.anew.Store(true)
	}
	return op.stillBusy(names), nil, nil
}

// isSelected says whether the scope has a namespace with these labels.
func (op *operator) isSelected(name string, set labels.Set) bool {
	limit := op.engine.options.Namespaces
	if slices.Contains(op.program.Exclude, name) || len(limit) > 0 && !slices.Contains(limit, name) {
		return false
	}
	if op.program.NamespaceSelector == nil {
		return len(op.program.Namespaces) == 0 || slices.Contains(op.program.Namespaces, name)
	}
	return slices.Contains(op.program.Namespaces, name) || op.program.NamespaceSelector.Matches(set)
}

// stillBusy adds the namespaces outside of the scope in which there are owners that were
// worked on, by this version of the policy or an older one: what was made for them is to be
// removed. The result is sorted.
func (op *operator) stillBusy(names []string) []string {
	op.mu.Lock()
	defer op.mu.Unlock()
	names = slices.Clone(names)
	for namespace := range op.owners.BusyNamespaces() {
		names = op.addOutside(names, namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// addOutside adds a namespace that is not in the scope.
func (op *operator) addOutside(names []string, namespace string) []string {
	if namespace == allNamespaces || op.inScope(namespace) {
		return names
	}
	return append(names, namespace)
}

// inScope says whether owners in a namespace are wanted.
func (op *operator) inScope(namespace string) bool {
	if op.roaming.Load() {
		return true
	}
	if slices.Contains(op.program.Exclude, namespace) {
		return false
	}
	selected := op.inside.Load()
	if selected == nil {
		unlimited := op.program.NamespaceSelector == nil && len(op.program.Namespaces) == 0
		return unlimited || slices.Contains(op.program.Namespaces, namespace)
	}
	_, ok := slices.BinarySearch(*selected, namespace)
	return ok
}

// namespaceOwners says whether the owners are Namespaces: the scope then selects
// the owners themselves.
func (op *operator) namespaceOwners() bool {
	gvk := op.program.Owner.GVK
	return gvk.Group == "" && gvk.Kind == "Namespace"
}
