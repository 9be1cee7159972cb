package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/impersonation"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// reconcilePolicy takes care of the policy as a whole: it finds out where its owners
// may be watched, declares the streams of them, and queues every owner that they
// hold if the streams have changed. The result is when to look again if nothing
// happens; 0: not at all.
func (op *policyController) reconcilePolicy(ctx context.Context) time.Duration {
	log := ctrllog.FromContext(ctx)
	if op.program.Suspend {
		log.Info("policy is suspended")
		return 0
	}
	if !op.kinds.HaveLookedUp() {
		return 0
	}
	owner, ok, err := op.controller.discovery.Lookup(op.program.Owner.GVK)
	switch {
	case discovery.IsUnserved(err) && !op.retiring:
		op.setProblem(ctx, op.kindUnservedProblem(err), false)
		return 0
	case err != nil:
		log.Info("waiting for the owner's kind", "kind", op.program.Owner.GVK.String(), "reason", err.Error())
		return 0
	case !ok:
		return 0
	}
	op.isClusterScoped.Store(!owner.Namespaced)
	if op.accountWatch != nil {
		problem, wait := impersonation.CheckAccount(op.actingAccount(), op.accountWatch, op.controller.now())
		if wait > 0 {
			return wait
		}
		if problem != nil {
			op.haltPolicy(ctx, problem)
			return 0
		}
	}
	return op.servePolicy(ctx, owner)
}

// servePolicy watches owners where that is permitted, and makes what the policy ensures.
func (op *policyController) servePolicy(ctx context.Context, owner discovery.Resource) time.Duration {
	op.namespaceList.StartTurn()
	if op.lookAnew.Load() {
		op.permissions.RefreshAll()
	}
	where, selectionChanged := op.scopeResolver.ResolveScope(owner.GVR.GroupResource(), owner.Namespaced)
	if selectionChanged {
		op.lookAnew.Store(true)
	}
	op.followNamespaces()
	problem, wait := op.policyProblem(ctx, where)
	if gone := op.kindMissingProblem(owner); gone != nil {
		problem = gone
	}
	decided, partly := where.IsDecided(), len(where.Watchable) > 0
	op.mu.Lock()
	if !decided {
		op.ownerViews.SetResolved(false)
	}
	op.isHalted = false
	op.mu.Unlock()
	// Without its views a policy seems to have no owners: before they go it is known why,
	// and before they are there it is not said that all is well.
	if decided && problem != nil {
		op.setProblem(ctx, problem, partly)
	}
	all := op.lookAnew.Swap(false)
	op.adoptViews(op.ownerViews.RequireViews(where, op.ownerStreams(owner)), where, all)
	op.ownerViews.SetResolved(decided)
	if !decided {
		return shorterWait(wait, permissionset.ReviewGrace)
	}
	if gone := op.kindMissingProblem(owner); gone != nil {
		op.setProblem(ctx, gone, partly)
		return wait
	}
	op.setProblem(ctx, problem, partly)
	op.logServing(ctx, where)
	return wait
}

// policyProblem is what keeps the policy from its work, or from a part of it, and when to
// look at that again.
func (op *policyController) policyProblem(ctx context.Context, where ownerviews.WatchScope) (*plan.Problem, time.Duration) {
	held, until := op.policyQuarantine()
	ensured, again := op.ensurePolicyObjects(ctx)
	wait := shorterWait(until, again)
	for _, problem := range []*plan.Problem{where.Problem, held, ensured} {
		if problem != nil {
			return problem, wait
		}
	}
	return nil, wait
}

// haltPolicy stops all work of the policy until its problem is gone. Children and
// statuses stay as they are.
func (op *policyController) haltPolicy(ctx context.Context, problem *plan.Problem) {
	op.setProblem(ctx, problem, false)
	op.mu.Lock()
	op.isHalted = true
	op.mu.Unlock()
	op.adoptViews(nil, ownerviews.WatchScope{}, true) // each owner gives back what it needed, on its own turn
	op.stopLooking()
}

// stopLooking gives back what the search for owners needed.
func (op *policyController) stopLooking() {
	op.controller.options.Informers.Require(op, nil)
	op.namespaceList.ReleaseList()
	op.scopeResolver.ReleaseCandidates()
	op.forgetEnsured()
	op.permissions.ReleasePlace(allNamespaces)
}

// setProblem remembers what keeps the policy from its work, or from a part of it, and logs
// it once.
func (op *policyController) setProblem(ctx context.Context, problem *plan.Problem, partly bool) {
	op.mu.Lock()
	before := op.currentProblem
	op.currentProblem = problem
	if problem != nil {
		op.loggedServing = ""
	}
	op.mu.Unlock()
	switch {
	case problem != nil && (before == nil || before.Message != problem.Message):
		what := "policy cannot do its work"
		if partly {
			what = "policy cannot do all of its work"
		}
		ctrllog.FromContext(ctx).Info(what, "reason", problem.Reason, "message", problem.Message)
	case problem == nil && before != nil:
		ctrllog.FromContext(ctx).Info("policy can do its work again")
	}
}

// kindUnservedProblem is the problem of a policy whose owners are of a kind that is not served, or not
// in the version that it names. Nothing is done until it is: that is noticed by itself.
func (op *policyController) kindUnservedProblem(err error) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true}
	var other *discovery.OtherVersionError
	if errors.As(err, &other) {
		p.Message = other.Error() + ": spec.owner has to name that version"
		return p
	}
	gvk := op.program.Owner.GVK
	p.Message = fmt.Sprintf("the API server does not serve kind %s in %s, which the owners are of: install it, or correct spec.owner", gvk.Kind, gvk.GroupVersion())
	return p
}

// kindMissingProblem is the problem that the kind of the owners has gone while it was watched; nil if
// it has not. A policy that is retired has nothing to clean up then.
func (op *policyController) kindMissingProblem(owner discovery.Resource) *plan.Problem {
	if op.retiring || !op.isKindRemoved(owner) {
		return nil
	}
	return op.kindUnservedProblem(nil)
}

// isKindRemoved says whether a kind that was watched is served no more, in no version.
func (op *policyController) isKindRemoved(owner discovery.Resource) bool {
	for _, view := range op.ownerViews.CurrentViews() {
		if status := view.Status(); status.State == informer.Missing && op.controller.discovery.ConfirmGone(owner.GVR, status.Since) {
			return true
		}
	}
	return false
}

// isKindGone says whether the kind of the owners is known not to be served, in no version.
func (op *policyController) isKindGone() bool {
	owner, ok, err := op.controller.discovery.Lookup(op.program.Owner.GVK)
	return meta.IsNoMatchError(err) || ok && op.isKindRemoved(owner)
}
