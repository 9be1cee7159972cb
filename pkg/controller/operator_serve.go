package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// reconcile takes care of the policy as a whole: it finds out where its owners
// may be watched, declares the streams of them, and queues every owner that they
// hold if the streams have changed. The result is when to look again if nothing
// happens; 0: not at all.
func (op *operator) reconcile(ctx context.Context) time.Duration {
	log := ctrllog.FromContext(ctx)
	if op.program.Suspend {
		log.Info("policy is suspended")
		return 0
	}
	if !op.lookedUp() {
		return 0
	}
	owner, ok, err := op.engine.discovery.Lookup(op.program.Owner.GVK)
	switch {
	case discovery.IsUnserved(err) && !op.retiring:
		op.note(ctx, op.unserved(err), false)
		return 0
	case err != nil:
		log.Info("waiting for the owner's kind", "kind", op.program.Owner.GVK.String(), "reason", err.Error())
		return 0
	case !ok:
		return 0
	}
	op.roaming.Store(!owner.Namespaced)
	problem, wait := op.account().check()
	if wait > 0 {
		return wait
	}
	if problem != nil {
		op.halt(ctx, problem)
		return 0
	}
	return op.serve(ctx, owner)
}

// serve watches owners where that is permitted, and makes what the policy ensures.
func (op *operator) serve(ctx context.Context, owner discovery.Resource) time.Duration {
	op.listing = false
	if op.anew.Load() {
		op.askAnew()
	}
	where := op.survey(owner)
	op.followNamespaces()
	problem, wait := op.standing(ctx, where)
	if gone := op.missing(owner, op.watching()); gone != nil {
		problem = gone
	}
	decided, partly := len(where.undecided) == 0, len(where.streams) > 0
	op.mu.Lock()
	op.surveyed, op.halted = op.surveyed && decided, false
	op.mu.Unlock()
	// Without its views a policy seems to have no owners: before they go it is known why,
	// and before they are there it is not said that all is well.
	if decided && problem != nil {
		op.note(ctx, problem, partly)
	}
	all := op.anew.Swap(false)
	views := op.watchOwners(owner, where)
	op.adopt(views, where, all)
	op.mu.Lock()
	op.surveyed = decided
	op.mu.Unlock()
	if !decided {
		return soonest(wait, reviewGrace)
	}
	if gone := op.missing(owner, views); gone != nil {
		op.note(ctx, gone, partly)
		return wait
	}
	op.note(ctx, problem, partly)
	op.announce(ctx, views, where)
	return wait
}

// standing is what keeps the policy from its work, or from a part of it, and when to
// look at that again.
func (op *operator) standing(ctx context.Context, where territory) (*plan.Problem, time.Duration) {
	held, until := op.policyQuarantine()
	ensured, again := op.ensure(ctx)
	wait := soonest(until, again)
	for _, problem := range []*plan.Problem{where.problem, held, ensured} {
		if problem != nil {
			return problem, wait
		}
	}
	return nil, wait
}

// soonest is the shorter of two waits, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// halt stops all work of the policy until its problem is gone. Children and
// statuses stay as they are.
func (op *operator) halt(ctx context.Context, problem *plan.Problem) {
	op.note(ctx, problem, false)
	op.mu.Lock()
	op.halted = true
	op.mu.Unlock()
	op.adopt(nil, territory{}, true) // each owner gives back what it needed, on its own turn
	op.stopLooking()
}

// stopLooking gives back what the search for owners needed.
func (op *operator) stopLooking() {
	op.engine.options.Informers.Require(op, nil)
	op.forgetNamespaces()
	op.keepPlaces(nil)
	op.forgetEnsured()
	op.drop(allNamespaces)
}

// note remembers what keeps the policy from its work, or from a part of it, and logs
// it once.
func (op *operator) note(ctx context.Context, problem *plan.Problem, partly bool) {
	op.mu.Lock()
	before := op.problem
	op.problem = problem
	if problem != nil {
		op.announced = ""
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

// lookedUp says whether every kind of the policy was looked up at least once,
// so that the first pass over an owner does not take a kind for missing.
func (op *operator) lookedUp() bool {
	all := true
	for _, gvk := range op.kinds() {
		_, ok, err := op.engine.discovery.Lookup(gvk)
		all = all && (ok || err != nil)
	}
	return all
}

// isAbout reports whether the policy names one of these kinds, or has made objects of one
// that is served.
func (op *operator) isAbout(kinds map[schema.GroupKind]bool) bool {
	return slices.ContainsFunc(op.kinds(), func(gvk schema.GroupVersionKind) bool { return kinds[gvk.GroupKind()] }) ||
		slices.ContainsFunc(op.recorded.all(), func(gvk schema.GroupVersionKind) bool {
			_, known, _ := op.engine.discovery.Peek(gvk)
			return known && kinds[gvk.GroupKind()]
		})
}

func (op *operator) kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, n := range op.program.Needs() {
		kinds = append(kinds, n.GVK)
	}
	return kinds
}
