package plan

import (
	"context"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// yieldTo waits for another policy to clean up after the owner. Whether that policy is
// still run nobody knows here.
func (p *planner) yieldTo(ctx context.Context, other string) *Plan {
	p.blockers.add(Problem{Reason: v1alpha1.ReasonOtherPolicy, Message: fmt.Sprintf(
		"policy %q has not cleaned up after this owner yet (annotation %s): waiting for it; if policy %q is gone, run: ambit cleanup -f <the file of policy %s>",
		other, v1alpha1.AnnotationChildren, other, other)})
	return p.say(ctx, &Plan{Partial: true, Foreign: other})
}
