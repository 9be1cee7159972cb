package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// allNamespaces is the namespace of a cluster-wide stream.
const allNamespaces = ""

// ownerStreams declares the streams of owners in namespaces, or in all of them together.
func (t policyTurn) ownerStreams(owner discovery.Resource) func(namespaces []string) map[string]ownerviews.View {
	return func(namespaces []string) map[string]ownerviews.View {
		needs := make([]informer.Interest, len(namespaces))
		for i, namespace := range namespaces {
			needs[i] = t.ownerInterest(owner, namespace)
		}
		views := make(map[string]ownerviews.View, len(needs))
		for i, view := range t.controller.options.Informers.Require(t.policyController, needs) {
			views[namespaces[i]] = view
		}
		return views
	}
}

// ownerInterest is the stream of owners of a namespace, or of all.
func (op *policyController) ownerInterest(owner discovery.Resource, namespace string) informer.Interest {
	byLabels, byFields := op.ownerSelectors()
	return informer.Interest{
		Key: informer.Key{
			Identity: op.identity, GVR: owner.GVR, Namespace: namespace,
			LabelSelector: byLabels, FieldSelector: byFields,
			Form: op.ownerProjection.Form,
		},
		Fields: op.ownerProjection.Fields,
	}
}

// logServing logs what the policy serves, when all its streams of owners are there
// or refused, and that is not what it served before.
func (t policyTurn) logServing(ctx context.Context, where ownerviews.WatchScope) {
	serving, known := t.ownerViews.DescribeServing()
	if !known {
		return
	}
	t.mu.Lock()
	text := fmt.Sprint(serving.Namespaces)
	news := text != t.loggedServing
	t.loggedServing = text
	t.mu.Unlock()
	if !news {
		return
	}
	log := ctrllog.FromContext(ctx).WithValues("kind", t.program.Owner.GVK.Kind)
	switch served := serving.Namespaces; {
	case len(served) > 0:
		count := len(served)
		if count > maxNamed {
			served = append(served[:maxNamed:maxNamed], "...")
		}
		log.Info("serving", "namespaces", served, "count", count, "owners", serving.Owners)
	case where.Problem == nil:
		log.Info("policy has nothing to do for now: owners may not be watched in any namespace of its scope", "namespaces", serving.Candidates)
	}
}

// maxNamed is how many namespaces one line of the log names.
const maxNamed = 20

// adoptViews takes the views over and queues the owners in those that are new or were
// listed anew, or all; and the owners that were worked on before and are in none of
// them, or in one of these.
func (op *policyController) adoptViews(views map[string]ownerviews.View, where ownerviews.WatchScope, all bool) {
	op.enqueueOwners(op.installViews(views, where, all))
}

// installViews takes over the views, and looks in the same step, under mu, which owners this
// concerns: no worker begins or ends with an owner in between. It returns the owners to look at.
func (op *policyController) installViews(views map[string]ownerviews.View, where ownerviews.WatchScope, all bool) []types.NamespacedName {
	op.mu.Lock()
	defer op.mu.Unlock()
	adoption := op.ownerViews.InstallViews(views, where, all)
	names := slices.DeleteFunc(adoption.Listed, op.owners.IsWorking)
	for name := range op.owners.WorkingOwners() {
		if adoption.ConcernsNamespace(name.Namespace) {
			names = append(names, name)
		}
	}
	names = append(names, op.owners.DropUnseen(op.ownerViews.IsSeen)...)
	return slices.AppendSeq(names, op.owners.OwnersOutOfSight())
}

// Changed implements informer.EventHandler for the streams of owners.
func (op *policyController) Changed(event informer.Event) {
	if event.Object == nil {
		op.checkEvent(event)
		op.controller.enqueueKey(Key{Policy: op.id})
		return
	}
	namespace, name := event.Object.GetNamespace(), event.Object.GetName()
	if !op.wantsSeen(event.Object) && !op.isWorkedOn(namespace, name) {
		return
	}
	again := op.ownerViews.RecordEvent(event) // owners whose streams are laid out anew
	op.enqueueOwner(types.NamespacedName{Namespace: namespace, Name: name})
	op.enqueueOwners(again)
}

// isWorkedOn says whether an owner is being worked on.
func (op *policyController) isWorkedOn(namespace, name string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.owners.IsWorking(types.NamespacedName{Namespace: namespace, Name: name})
}

// ownerSelectors is what the API server selects owners by; empty where all must be seen
// because they may be marked, which may be known only now that the kinds are.
func (op *policyController) ownerSelectors() (labels, fields string) {
	labels, fields = op.program.Owner.LabelSelector, op.program.Owner.FieldSelector
	if labels+fields != "" && op.program.NeedsFinalizerFor(op.kinds.IsNamespaced) {
		return "", ""
	}
	return labels, fields
}

// isSelective says whether the API server selects the owners. One that stops matching is
// then gone from their stream, just as one that was deleted.
func (op *policyController) isSelective() bool {
	byLabels, byFields := op.ownerSelectors()
	return byLabels != "" || byFields != ""
}

// enqueuePolicy queues the policy itself, for an event of what it waits for.
func (op *policyController) enqueuePolicy(permitted.Event) {
	op.controller.enqueueKey(Key{Policy: op.id})
}

// followNamespaces keeps the list of namespaces for owners that look for objects in
// all of them, one by one; or gives it back if nobody has asked for it on this turn.
func (t policyTurn) followNamespaces() {
	wanted := t.inputs.SearchesNamespaces() || t.revision.IsSucceeding() && t.namespaceList.FollowedList() != nil // as the version before
	if t.namespaceList.FollowList(wanted, t.inScope) {
		t.lookAnew.Store(true)
	}
}

// busyNamespaces are the namespaces in which there are owners that were worked on, by this version of
// the policy or an older one.
func (op *policyController) busyNamespaces() []string {
	op.mu.Lock()
	defer op.mu.Unlock()
	return slices.Collect(op.owners.BusyNamespaces())
}
