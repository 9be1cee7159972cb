package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// newNamespacesWatch is the list of namespaces, as the policy's identity may see it.
func (op *policyController) newNamespacesWatch() *permitted.Watch {
	return op.controller.permitted.NewWatch(permitted.Query{
		Identity: op.identity, Resources: []schema.GroupVersionResource{namespaces}, Payer: access.Payer{Group: op.id},
	}, op.enqueuePolicy)
}

// enqueuePolicy queues the policy itself, for an event of what it waits for.
func (op *policyController) enqueuePolicy(permitted.Event) { op.controller.enqueue(Key{Policy: op.id}) }

// listNamespaces returns the namespaces there are; or nil if they may not be listed
// and watched; or false while that is not known. They are watched from then on, until
// namespacesWatch is released. It is called on the policy's own turn.
func (op *policyController) listNamespaces() (list *ownerscope.Namespaces, known bool) {
	op.isListingNamespaces = true
	switch op.namespacesWatch.Require().Decision {
	case permitted.Denied:
		return nil, true
	case permitted.Unknown, permitted.Refused:
		return nil, false
	}
	listed, status := op.namespacesWatch.Read()
	if !status.Synced {
		return nil, false
	}
	found := make(ownerscope.Namespaces, len(listed))
	for _, namespace := range listed {
		found[namespace.GetName()] = namespace.GetLabels()
	}
	return &found, true
}

// knownCandidates are the namespaces in which owners are looked for one by one.
func (op *policyController) knownCandidates() []string {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.candidates
}

// followNamespaces keeps the list of namespaces for owners that look for objects in
// all of them, one by one; or gives it back if nobody has asked for it on this turn.
func (op *policyController) followNamespaces() {
	var now *ownerscope.Namespaces
	if op.searchesNamespaces() || op.revision.IsSucceeding() && op.namespaceList.Load() != nil { // as the version before
		now, _ = op.listNamespaces()
	}
	if !op.isListingNamespaces {
		op.namespacesWatch.Release()
	}
	before := op.namespaceList.Load()
	isSame := before == now || before != nil && now != nil && slices.Equal(before.NamesWhere(op.inScope), now.NamesWhere(op.inScope))
	if !isSame {
		op.namespaceList.Store(now)
		op.lookAnew.Store(true)
	}
}

// searchesNamespaces says whether an owner looks for objects in each namespace, because they may
// not be watched in all of them together, and no namespaces are named.
func (op *policyController) searchesNamespaces() bool {
	if op.scope.HasNames() {
		return false
	}
	return slices.ContainsFunc(op.permissions.UsesIndex().UsesIn(allNamespaces), func(w placeuses.Use) bool { return w.Optional && op.isDeniedEverywhere(w.Part) })
}

// isDeniedEverywhere says whether a watch for objects in all namespaces has to look in
// each of them.
func (op *policyController) isDeniedEverywhere(id string) bool {
	i := slices.IndexFunc(op.program.Watches, func(w *policy.Watch) bool { return w.ID == id && w.AllNamespaces })
	if i < 0 {
		return false
	}
	found, ok, _ := op.controller.discovery.Lookup(op.program.Watches[i].GVK)
	r, asked := op.permissions.CurrentAt(allNamespaces)
	return ok && asked && (op.program.NamespaceSelector != nil || !r.MayWatch(found.GVR.GroupResource()) || op.permissions.WasDenied(found.GVR.GroupResource()))
}

// missingForNamespaces is what the policy lacks to list and watch namespaces.
func (op *policyController) missingForNamespaces() permissionset.Missing {
	return permissionset.Missing{Resource: namespaces.GroupResource(), Verbs: access.VerbsOf(op.namespacesWatch.Permission().Missing)}
}

// selectedNamespaces are the namespaces of a scope with a selector: those that are named go on
// while the list is not to be had. Those that are no longer selected stay as long as
// there are owners to retire.
func (op *policyController) selectedNamespaces() (candidates []string, problem *plan.Problem, done *watchScope) {
	listed, known := op.listNamespaces()
	switch {
	case !known && op.knownCandidates() == nil:
		return nil, nil, &watchScope{undecided: []string{allNamespaces}}
	case !known:
		return op.knownCandidates(), nil, nil
	case listed == nil:
		denied := op.placeFor(allNamespaces).Forbidden(op.missingForNamespaces())
		denied.Message += ": spec.scope.namespaceSelector cannot be followed"
		return op.knownCandidates(), &denied, nil
	}
	names, changed := op.scope.SetListed(listed)
	if changed {
		op.lookAnew.Store(true)
	}
	return op.addBusyNamespaces(names), nil, nil
}

// addBusyNamespaces adds the namespaces outside of the scope in which there are owners that were
// worked on, by this version of the policy or an older one: what was made for them is to be
// removed. The result is sorted.
func (op *policyController) addBusyNamespaces(names []string) []string {
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
func (op *policyController) addOutside(names []string, namespace string) []string {
	if namespace == allNamespaces || op.inScope(namespace) {
		return names
	}
	return append(names, namespace)
}

// inScope says whether owners in a namespace are wanted.
func (op *policyController) inScope(namespace string) bool {
	return op.isClusterScoped.Load() || op.scope.HasNamespace(namespace)
}
