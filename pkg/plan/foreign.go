package plan

import (
	"context"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// yieldTo waits for another policy to clean up after the owner. Whether that policy is
// still run nobody knows here; if it stays for longer than a moment, somebody has to act.
func (p *reporter) yieldTo(ctx context.Context, other string) *Plan {
	message := "policy %q has not cleaned up after this owner yet (annotation %s): waiting for it; if policy %q is gone, run: ambit cleanup -f <the file of policy %s>"
	if p.snapshot.OtherStays {
		message = "policy %q works on this owner and has children on record (annotation %s), so that this policy does not: let only one of the two select it, by owner.selector, owner.filter or scope; " +
			"if policy %q is gone, run: ambit cleanup -f <the file of policy %s>"
	}
	p.blockers.add(Problem{Reason: v1alpha1.ReasonOtherPolicy, Terminal: p.snapshot.OtherStays,
		Message: fmt.Sprintf(message, other, v1alpha1.AnnotationChildren, other, other)})
	return p.say(ctx, &Plan{Partial: true, Foreign: other})
}
