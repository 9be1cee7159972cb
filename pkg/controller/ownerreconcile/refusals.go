package ownerreconcile

import (
	"context"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/refusedwrites"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// isHeldBack says whether a write is not to be tried now, and notes why: the right is
// missing, or the same write was refused a short while ago. what tells writes
// apart.
func (p *Reconciler) isHeldBack(key string, what func() string, at ownerinputs.PlacePermissions, denied *plan.Problem) bool {
	if denied != nil {
		p.problems[key] = *denied
		p.state.refused.ForgetRefusal(key)
		return true
	}
	problem, still := p.state.refused.CurrentProblem(key, what, at.Answer, p.Now())
	if still {
		p.problems[key] = problem
	}
	return still
}

// isOwnerHeldBack says whether the owner, or a subresource of it, is not to be written now: it is known to have
// changed since it was seen, and is looked at again, or the write is held back (see isHeldBack).
func (p *Reconciler) isOwnerHeldBack(key string, what func() string, kind discovery.Resource, subresource string) bool {
	return p.isOwnerHeldBackFrom(key, what, kind, subresource, "patch")
}

// isOwnerHeldBackFrom is isOwnerHeldBack for a verb.
func (p *Reconciler) isOwnerHeldBackFrom(key string, what func() string, kind discovery.Resource, subresource, verb string) bool {
	if p.state.stale.HoldsBack(p.owner.GetResourceVersion(), p.Now()) {
		p.isCacheBehind = true
		return true
	}
	home := p.state.inputs.Home
	return p.isHeldBack(key, what, home, home.Own.ProblemFor(kind.GVR.GroupResource(), subresource, verb))
}

// recordRefusal notes that a write in a place was refused, and says whether that is news. A
// right that is missing is confirmed by a review; a is what was tried.
func (p *Reconciler) recordRefusal(key, what, place string, a access.Access, problem plan.Problem) (news bool) {
	p.problems[key] = problem
	r := refusedwrites.Refusal{Write: what, Problem: problem, Permissions: p.state.inputs.PermissionsAt(place).Answer}
	switch problem.Reason {
	case v1alpha1.ReasonForbidden, v1alpha1.ReasonUnauthenticated, v1alpha1.ReasonImpersonationRefused:
		for _, d := range problem.Denied { // perhaps not the write, but a read before it
			a.Verb = d.Verb
		}
		p.Permissions.ReportDenied(place, a)
		p.isRefusalUnconfirmed, r.AtLeast = true, 2*placepermissions.ConfirmGrace
	}
	return p.state.refused.RecordRefusal(key, r, p.Backoff, p.Now())
}

// refusalLevel is the level of the log that a refusal is worth: what is no news, or due to the end of the
// process, is for who looks closer.
func refusalLevel(ctx context.Context, isNews bool) int {
	if isNews && ctx.Err() == nil {
		return 0
	}
	return 1
}

// forgetRefusal is for a write that was accepted. Another one of the same key may have been held
// back in this reconcile: it is not any more.
func (p *Reconciler) forgetRefusal(key string) {
	p.state.refused.ForgetRefusal(key)
	delete(p.problems, key)
}
