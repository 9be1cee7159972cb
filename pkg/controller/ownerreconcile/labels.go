package ownerreconcile

import (
	"context"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// lacksLabels reports whether the object of an answer lacks a label that its stream selects or is
// read by, so that no stream will show it. What a create met is then applied by the next plan,
// which puts the labels on; if it is being deleted nothing is written to it, and no event will say
// that it is gone, so that the owner is looked at again. Where nothing may be written to what
// exists (apply: Create, Recreate), somebody else has to put them back. If a write was answered
// without them, admission has removed them. Of both the next plan says so, and the same is tried
// again with the backoff of what was refused.
func (w childWriter) lacksLabels(ctx context.Context, action plan.Action, k discovery.Resource, outcome apply.Outcome) bool {
	label := missingLabel(action, outcome)
	if label == "" {
		return false
	}
	why := "an admission webhook or policy removes it from what is written; let that keep the labels of Ambit"
	if outcome.Met {
		going := outcome.Object.GetDeletionTimestamp() != nil
		child := w.childOf(action)
		if going || child == nil || child.Apply != v1alpha1.ApplyCreate && child.Apply != v1alpha1.ApplyRecreate {
			w.existing = append(w.existing, existingObject{kind: action.GVK, object: outcome.Object, hidden: going})
			return true
		}
		why = fmt.Sprintf("put it back, or delete the object: with apply: %s nothing is written to what exists", child.Apply)
	}
	a := access.Access{Verb: verbOf(action), Group: k.GVR.Group, Resource: k.GVR.Resource}
	problem := plan.Problem{Reason: v1alpha1.ReasonLabelsRemoved, Terminal: true, Message: fmt.Sprintf(
		"%s exists and is ours, but lacks the label %s, by which it is watched: %s", w.nameOf(action), label, why)}
	if w.recordRefusal(action.Key(), labelsText(action), action.Namespace, a, problem) && ctx.Err() == nil {
		actionLog(ctx, action).Info("labels are missing", "reason", problem.Reason, "message", problem.Message)
	}
	return true
}

// missingLabel is the first label that the object of an answer lacks; empty if it has all, or
// none is wanted.
func missingLabel(action plan.Action, outcome apply.Outcome) string {
	if outcome.Object == nil || action.Object == nil {
		return ""
	}
	want, have := action.Object.GetLabels(), outcome.Object.GetLabels()
	for _, label := range []string{v1alpha1.LabelPolicy, v1alpha1.LabelOwnerUID} {
		if want[label] != have[label] && want[label] != "" {
			return label
		}
	}
	return ""
}
