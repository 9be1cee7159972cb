package controller

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/ownerreconcile"
	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/controller/revisions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

func newPolicyController(e *Controller, program *policy.Program) *policyController {
	op := &policyController{
		controller: e, id: idOf(program), program: program, startedAt: e.startedAt,
		identity: program.Identity(),
		owners:   owners.New[ownerState](),
		scope:    ownerscope.New(program, e.options.Namespaces),

		cleanupBlockers: map[types.NamespacedName][]plan.Problem{},
	}
	op.revision = revisions.New(op.id, op)
	op.kinds = policykinds.New(program, e.discovery, e.releaseKinds)
	op.ownerProjection = ownerinputs.OwnerProjection(program)
	op.permissions = op.newPermissions()
	op.ownerViews = ownerviews.New(op.wantsSeen)
	op.namespaceList = ownerviews.NewNamespaceList(e.permitted.NewWatch(ownerviews.NamespacesQuery(op.identity, access.Payer{Group: op.id}), op.enqueuePolicy))
	op.scopeResolver = ownerviews.NewResolver(ownerviews.Options{
		Scope: op.scope, Requests: op.permissions, Answers: op.permissions, Namespaces: op.namespaceList, Views: op.ownerViews,
		IsRetiring: func() bool { return op.retiring }, BusyNamespaces: op.busyNamespaces, User: op.userName(),
	})
	op.inputs = ownerinputs.New(ownerinputs.Options{
		Program: program, Manager: v1alpha1.FieldManager(program.Label), Identity: op.identity, User: op.userName(),
		Kinds: op.kinds, Permissions: op.permissions, Scope: op.scope, Namespaces: op.namespaceList, NowhereProblem: op.scopeResolver.NowhereProblem,
		IsClusterScoped: op.isClusterScoped.Load, IsGone: e.discovery.ConfirmGone, Enqueue: op.enqueueOwner,
	})
	op.reconciles = op.newReconcileOptions()
	if account := op.actingAccount(); account.Name != "" {
		op.accountWatch = e.permitted.NewWatch(account.PermittedQuery(access.Payer{Group: op.id}), op.enqueuePolicy)
	}
	return op
}

// releaseAll gives everything back. No worker is in the policy controller, nor will there be one.
func (op *policyController) releaseAll() {
	for _, name := range op.installViews(nil, ownerviews.WatchScope{}, true) {
		op.forgetOwner(name)
	}
	op.stopLooking()
	if op.accountWatch != nil {
		op.accountWatch.Release()
	}
}

// newPermissions returns the tracker of what the policy may do.
func (op *policyController) newPermissions() *placepermissions.Tracker {
	o, events := op.controller.options, permissionEvents{op}
	return placepermissions.New(placepermissions.Options{
		Policy: op.id, Identity: op.identity, User: op.userName(), Reviewer: o.Access,
		Needs: op.resourceNeeds, ResourceOf: op.kinds.ResourceOf, IsClusterScoped: op.isClusterScoped.Load,
		ScopeOf: events.requiredScope, IsServed: events.isServed, IsReplaced: op.revision.IsReplaced,
		WantsClusterWide: op.program.Informers == v1alpha1.InformersCluster,
		Refused:          events.refusalProblem, Changed: events.permissionsChanged,
		Now: op.controller.currentTime, Logger: o.Logger,
	})
}

// newReconcileOptions returns what reconciles of all owners have in common.
func (op *policyController) newReconcileOptions() *ownerreconcile.Options {
	e := op.controller
	return &ownerreconcile.Options{
		Program: op.program, Manager: op.inputs.Manager, User: op.userName(),
		Client:    func() (dynamic.Interface, error) { return e.options.Clients(op.identity) },
		Informers: e.options.Informers, Owners: op,
		Kinds: op.kinds, Inputs: op.inputs, Permissions: op.permissions,
		LostWrites: &recordcheck.LostWrites{}, Turns: &fairqueue.Throttle{},
		Recorder: e.options.Recorder, MayMakeEvents: e.mayMakeEvents,
		OwnerKey: func(kind discovery.Resource, namespace string) informer.Key {
			return op.ownerInterest(kind, op.ownerViews.StreamOf(namespace)).Key
		},
		OwnerExists: op.ownerExists, SharesStreams: op.ownerViews.SharesWatches, IsSpread: op.ownerViews.IsSpread, IsRetired: e.isRetired,
		RecordEvaluation: op.recordEvaluation,
		Backoff:          e.backoffAfter, Now: e.currentTime, Random: e.options.Random,
	}
}
