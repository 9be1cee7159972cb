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

// policyTurn is the turn of a policy as a whole, on the goroutine of the worker that has its key.
type policyTurn struct{ *policyController }

// reconcilePolicy takes care of the policy as a whole: it finds out where its owners
// may be watched, declares the streams of them, and queues every owner that they
// hold if the streams have changed. The result is when to look again if nothing
// happens; 0: not at all.
func (t policyTurn) reconcilePolicy(ctx context.Context) time.Duration {
	log := ctrllog.FromContext(ctx)
	if t.program.Suspend {
		log.Info("policy is suspended")
		return 0
	}
	if !t.kinds.HaveLookedUp() {
		return 0
	}
	owner, ok, err := t.controller.discovery.LookupKind(t.program.Owner.GVK)
	switch {
	case discovery.IsUnserved(err) && !t.retiring:
		t.setProblem(ctx, t.kindUnservedProblem(err), false)
		return 0
	case err != nil:
		log.Info("waiting for the owner's kind", "kind", t.program.Owner.GVK.String(), "reason", err.Error())
		return 0
	case !ok:
		return 0
	}
	t.isClusterScoped.Store(!owner.Namespaced)
	if t.accountWatch != nil {
		problem, wait := impersonation.CheckAccount(t.actingAccount(), t.accountWatch, t.controller.currentTime())
		if wait > 0 {
			return wait
		}
		if problem != nil {
			t.haltPolicy(ctx, problem)
			return 0
		}
	}
	return t.servePolicy(ctx, owner)
}

// servePolicy watches owners where that is permitted, and makes what the policy ensures.
func (t policyTurn) servePolicy(ctx context.Context, owner discovery.Resource) time.Duration {
	t.namespaceList.StartTurn()
	if t.lookAnew.Load() {
		t.permissions.RefreshAll()
	}
	where, selectionChanged := t.scopeResolver.ResolveScope(owner.GVR.GroupResource(), owner.Namespaced)
	if selectionChanged {
		t.lookAnew.Store(true)
	}
	t.followNamespaces()
	problem, wait := t.policyProblem(ctx, where)
	if gone := t.kindMissingProblem(owner); gone != nil {
		problem = gone
	}
	decided, partly := where.IsDecided(), len(where.Watchable) > 0
	t.mu.Lock()
	if !decided {
		t.ownerViews.SetResolved(false)
	}
	t.isHalted = false
	t.mu.Unlock()
	// Without its views a policy seems to have no owners: before they go it is known why,
	// and before they are there it is not said that all is well.
	if decided && problem != nil {
		t.setProblem(ctx, problem, partly)
	}
	all := t.lookAnew.Swap(false)
	t.adoptViews(t.ownerViews.RequireViews(where, t.ownerStreams(owner)), where, all)
	t.ownerViews.SetResolved(decided)
	if !decided {
		return shorterWait(wait, permissionset.ReviewGrace)
	}
	if gone := t.kindMissingProblem(owner); gone != nil {
		t.setProblem(ctx, gone, partly)
		return wait
	}
	t.setProblem(ctx, problem, partly)
	t.logServing(ctx, where)
	return wait
}

// policyProblem is what keeps the policy from its work, or from a part of it, and when to
// look at that again.
func (t policyTurn) policyProblem(ctx context.Context, where ownerviews.WatchScope) (*plan.Problem, time.Duration) {
	held, until := t.policyQuarantine()
	ensured, again := t.ensurePolicyObjects(ctx)
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
func (t policyTurn) haltPolicy(ctx context.Context, problem *plan.Problem) {
	t.setProblem(ctx, problem, false)
	t.mu.Lock()
	t.isHalted = true
	t.mu.Unlock()
	t.adoptViews(nil, ownerviews.WatchScope{}, true) // each owner gives back what it needed, on its own turn
	t.stopLooking()
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
func (t policyTurn) setProblem(ctx context.Context, problem *plan.Problem, partly bool) {
	t.mu.Lock()
	before := t.currentProblem
	t.currentProblem = problem
	if problem != nil {
		t.loggedServing = ""
	}
	t.mu.Unlock()
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
func (t policyTurn) kindUnservedProblem(err error) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true}
	var other *discovery.OtherVersionError
	if errors.As(err, &other) {
		p.Message = other.Error() + ": spec.owner has to name that version"
		return p
	}
	gvk := t.program.Owner.GVK
	p.Message = fmt.Sprintf("the API server does not serve kind %s in %s, which the owners are of: install it, or correct spec.owner", gvk.Kind, gvk.GroupVersion())
	return p
}

// kindMissingProblem is the problem that the kind of the owners has gone while it was watched; nil if
// it has not. A policy that is retired has nothing to clean up then.
func (t policyTurn) kindMissingProblem(owner discovery.Resource) *plan.Problem {
	if t.retiring || !t.isKindRemoved(owner) {
		return nil
	}
	return t.kindUnservedProblem(nil)
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
func (r policyReport) isKindGone() bool {
	owner, ok, err := r.controller.discovery.LookupKnown(r.program.Owner.GVK)
	return meta.IsNoMatchError(err) || ok && r.isKindRemoved(owner)
}
