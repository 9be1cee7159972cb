package plan

import (
	"context"
	"errors"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/plan/madevalues"
)

// resolveMade notes what is to be made for an object. The element is bound.
func (p *planner) resolveMade(ctx context.Context, c *child, it *instance) *Problem {
	request, err := madevalues.Resolve(ctx, c.Child, p.scope.Vars)
	var failure *madevalues.Failure
	if errors.As(err, &failure) {
		return p.scope.Fail(failure.What, failure.Err).Problem()
	}
	it.values, it.state.Make = request, request
	return nil
}

// checkMade says whether the made values of a live object are valid.
func (p *planner) checkMade(c *child, it *instance) bool {
	if it.values == nil {
		return true
	}
	verdict := it.values.Check(it.live, p.snapshot.Now)
	p.clock.ChangesAt(verdict.Until, "made values of "+c.objectName(it))
	switch {
	case verdict.IsValid():
		return true
	case verdict.Findings[0].Code == recipe.NoIssuer:
		return it.markBlocked(&Problem{Reason: v1alpha1.ReasonInvalid, Message: c.objectName(it) + ": " + verdict.Reason()})
	}
	p.planAction(c, it, Action{
		Verb: MakeValues, UID: it.live.GetUID(), ResourceVersion: it.live.GetResourceVersion(), Reason: verdict.Reason(),
		Fields: verdict.Fields(), Digest: verdict.Reason(),
	})
	return false
}
