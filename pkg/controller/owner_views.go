package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// watchOwners declares the streams of owners. A cluster-wide stream takes over from
// those of single namespaces when it is synced, not before: until then both are
// there, so that no owner is out of sight.
func (op *policyController) watchOwners(owner discovery.Resource, where watchScope) map[string]informer.Lister {
	op.mu.Lock()
	current := op.ownerViews
	op.mu.Unlock()
	next := slices.Clone(where.streams)
	for namespace := range current {
		if !slices.Contains(next, namespace) && (slices.Contains(where.undecided, namespace) || slices.Equal(next, []string{allNamespaces})) {
			next = append(next, namespace)
		}
	}
	slices.Sort(next)
	views := op.requireOwners(owner, next)
	if all, ok := views[allNamespaces]; ok && len(views) > 1 {
		if all.Synced() {
			views = op.requireOwners(owner, []string{allNamespaces})
		} else {
			delete(views, allNamespaces)
		}
	}
	return views
}

func (op *policyController) requireOwners(owner discovery.Resource, namespaces []string) map[string]informer.Lister {
	needs := make([]informer.Interest, len(namespaces))
	for i, namespace := range namespaces {
		needs[i] = op.ownerInterest(owner, namespace)
	}
	views := make(map[string]informer.Lister, len(needs))
	for i, view := range op.controller.options.Informers.Require(op, needs) {
		views[namespaces[i]] = view
	}
	return views
}

// ownerInterest is the stream of owners of a namespace, or of all.
func (op *policyController) ownerInterest(owner discovery.Resource, namespace string) informer.Interest {
	byLabels, byFields := op.ownerSelectors()
	return informer.Interest{
		Key: informer.Key{
			Identity: op.identity, GVR: owner.GVR, Namespace: namespace,
			LabelSelector: byLabels, FieldSelector: byFields,
			Form: op.projections.owner.form,
		},
		Fields: op.projections.owner.fields,
	}
}

// logServing logs what the policy serves, when all its streams of owners are there
// or refused, and that is not what it served before.
func (op *policyController) logServing(ctx context.Context, views map[string]informer.Lister, where watchScope) {
	var served []string
	ownerCount := 0
	for namespace, view := range views {
		objects, status := view.Read()
		if !status.Synced && !status.State.IsFinal() {
			return
		}
		ownerCount += len(objects)
		served = append(served, cmp.Or(namespace, "all"))
	}
	slices.Sort(served)
	op.mu.Lock()
	text := fmt.Sprint(served)
	news := text != op.loggedServing
	op.loggedServing = text
	candidates := len(op.candidates)
	op.mu.Unlock()
	if !news {
		return
	}
	log := ctrllog.FromContext(ctx).WithValues("kind", op.program.Owner.GVK.Kind)
	switch {
	case len(served) > 0:
		if len(served) > maxNamed {
			served = append(served[:maxNamed:maxNamed], "...")
		}
		log.Info("serving", "namespaces", served, "count", len(views), "owners", ownerCount)
	case where.problem == nil:
		log.Info("policy has nothing to do for now: owners may not be watched in any namespace of its scope", "namespaces", candidates)
	}
}

// maxNamed is how many namespaces one line of the log names.
const maxNamed = 20

// adoptedView says up to where the owners in a view were queued.
type adoptedView struct {
	view  informer.Lister
	epoch uint64 // of the stream; 0 while it is not synced
}

// adoptViews takes the views over and queues the owners in those that are new or were
// listed anew, or all; and the owners that were worked on before and are in none of
// them, or in one of these.
func (op *policyController) adoptViews(views map[string]informer.Lister, where watchScope, all bool) {
	op.enqueueOwners(op.installViews(views, where, all))
}

// installViews lists the owners and takes over the views in one step: an owner that
// comes before it is in the list, one that comes after it finds the views. It
// returns the owners to look at.
func (op *policyController) installViews(views map[string]informer.Lister, where watchScope, all bool) []types.NamespacedName {
	op.mu.Lock()
	defer op.mu.Unlock()
	before := op.adoptedViews
	for namespace := range op.ownerViews {
		if _, still := views[namespace]; !still {
			delete(op.scanned, namespace)
		}
	}
	op.ownerViews, op.watchScope, op.ownerGroups, op.adoptedViews = views, where, owners.Groups{}, map[string]adoptedView{}
	news := map[string]bool{}
	var names []types.NamespacedName
	for namespace, view := range views {
		listed, status := view.Read()
		now := adoptedView{view: view}
		if status.Synced {
			now.epoch = status.Epoch
		}
		op.adoptedViews[namespace], news[namespace] = now, all || before[namespace] != now
		for _, owner := range listed {
			name := types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}
			if !op.inScope(name.Namespace) && !inventory.IsMarked(op.program.Name, owner) {
				continue
			}
			op.ownerGroups.AddOwner(name.Namespace, name.Name)
			op.servedNamespaces[name.Namespace] = true
			if news[namespace] && !op.owners.IsWorking(name) {
				names = append(names, name)
			}
		}
	}
	for name := range op.owners.WorkingOwners() {
		stream := op.streamOfLocked(name.Namespace)
		if _, seen := views[stream]; news[stream] || !seen {
			names = append(names, name)
		}
	}
	names = append(names, op.dropUnseenLocked()...)
	return slices.AppendSeq(names, op.owners.OwnersOutOfSight())
}

// dropUnseenLocked drops what is known of owners whose stream is closed, and returns those that
// have something to give back first. The caller holds mu.
func (op *policyController) dropUnseenLocked() []types.NamespacedName {
	if len(op.ownerViews) == 0 {
		clear(op.scanned)
	}
	return op.owners.DropUnseen(op.isSeenLocked)
}

// isSeenLocked says whether there is a stream that shows the owners of a namespace. The
// caller holds mu.
func (op *policyController) isSeenLocked(namespace string) bool {
	_, seen := op.ownerViews[op.streamOfLocked(namespace)]
	return seen
}

// Changed implements informer.EventHandler for the streams of owners.
func (op *policyController) Changed(event informer.Event) {
	if event.Object == nil {
		op.checkEvent(event)
		op.controller.enqueue(Key{Policy: op.id})
		return
	}
	namespace, name := event.Object.GetNamespace(), event.Object.GetName()
	if !op.inScope(namespace) && !inventory.IsMarked(op.program.Name, event.Object) && !op.isWorkedOn(namespace, name) {
		return
	}
	op.mu.Lock()
	var again []string // owners whose watches are laid out anew
	switch event.Type {
	case informer.Deleted:
		again = op.ownerGroups.RemoveOwner(namespace, name)
		if event.Key.Namespace == allNamespaces && !op.ownerGroups.HasOwners(namespace) {
			delete(op.servedNamespaces, namespace)
		}
	case informer.Added:
		op.servedNamespaces[namespace] = true
		again = op.ownerGroups.AddOwner(namespace, name)
	}
	op.mu.Unlock()
	op.controller.enqueue(Key{Policy: op.id, Namespace: namespace, Name: name})
	for _, other := range again {
		op.controller.enqueue(Key{Policy: op.id, Namespace: namespace, Name: other})
	}
}

// isWorkedOn says whether an owner is being worked on.
func (op *policyController) isWorkedOn(namespace, name string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.owners.IsWorking(types.NamespacedName{Namespace: namespace, Name: name})
}

// sharesWatches says whether the owner-specific watches of a namespace are shared.
func (op *policyController) sharesWatches(namespace string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.ownerGroups.IsShared(namespace)
}

// isOutsideScope says whether owners in a namespace are not, and will not be, watched; false
// while nobody has looked where they can be.
func (op *policyController) isOutsideScope(namespace string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.adoptedViews != nil && !op.watchScope.coversNamespace(namespace)
}

// readOwner reads an owner from the cache, and says which view it is from. live is
// false when its stream is not, so that nothing can be concluded from its absence.
func (op *policyController) readOwner(key Key) (owner *unstructured.Unstructured, from informer.Lister, live bool) {
	op.mu.Lock()
	from, ok := op.ownerViews[op.streamOfLocked(key.Namespace)]
	op.mu.Unlock()
	if !ok || !from.Synced() {
		return nil, from, false
	}
	owner = from.Get(key.Namespace, key.Name)
	// A stream that was refused in between has lost its objects.
	return owner, from, owner != nil || from.Synced()
}

// streamOfLocked names the stream of owners that shows a namespace: its own, or that
// of all namespaces. The caller holds mu.
func (op *policyController) streamOfLocked(namespace string) string {
	if _, ok := op.ownerViews[namespace]; ok {
		return namespace
	}
	return allNamespaces
}
