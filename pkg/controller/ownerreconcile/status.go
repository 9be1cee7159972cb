package ownerreconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// statusProblem is the key of a refused status write among the problems; no
// child has it.
const statusProblem = "status of the owner"

// statusWriter writes the status of a run's owner.
type statusWriter struct{ *Reconciler }

// ReportStatus is called after RecordPlan, with its plan; there has to be an owner. It says in the owner's status how it fares. Of an owner whose status belongs
// to others it is logged, as of one that the policy does not want.
func (p *Reconciler) ReportStatus(ctx context.Context, planned *plan.Plan) error {
	switch {
	case p.retire:
	case p.Program.Owner.SkipStatus:
	case planned.Foreign != "":
		return statusWriter{p}.reportOnce(ctx, planned)
	default:
		p.state.loggedProblem = nil
		return statusWriter{p}.writeStatus(ctx, planned)
	}
	before, now := p.state.loggedProblem, stalledBy(planned)
	p.state.loggedProblem = now
	switch {
	case now != nil && isNewProblem(before, now):
		ctrllog.FromContext(ctx).Info("owner is stalled", "reason", now.Reason, "message", now.Message)
	case now == nil && before != nil:
		ctrllog.FromContext(ctx).Info("owner is no longer stalled")
	}
	return nil
}

// stalledBy is all that somebody has to act on, in a stable order; nil if that is nothing.
func stalledBy(planned *plan.Plan) *plan.Problem {
	var now *plan.Problem
	for _, b := range planned.Blockers {
		switch {
		case !b.Terminal:
		case now == nil:
			now = &plan.Problem{Reason: b.Reason, Message: b.Message}
		case len(now.Message) < maxLogged:
			now.Message += "; " + b.Message
		}
	}
	return now
}

// logDropped logs, once, what expressions gave for the metadata of children although only
// Ambit sets it.
func (p *Reconciler) logDropped(ctx context.Context, planned *plan.Plan) {
	var now strings.Builder
	for _, c := range planned.Children {
		if len(c.Dropped) > 0 && now.Len() < maxLogged {
			fmt.Fprintf(&now, "; %s %q: %s", c.ID, c.Name, strings.Join(c.Dropped, ", "))
		}
	}
	text := strings.TrimPrefix(now.String(), "; ")
	if text != "" && text != p.state.loggedDropped {
		ctrllog.FromContext(ctx).Info("left out of children, because only Ambit sets it", "children", text)
	}
	p.state.loggedDropped = text
}

// maxLogged is after how many bytes nothing more is said in one line of the log.
const maxLogged = 4096

// isNewProblem says whether a line of the log would say something else than the one before.
// Which limit it is that an owner runs into is chance, and no news.
func isNewProblem(before, now *plan.Problem) bool {
	return before == nil || before.Reason != now.Reason || before.Message != now.Message && now.Reason != v1alpha1.ReasonLimitExceeded
}

// reportOnce says that another policy has its record on the owner. It does not insist: if
// that policy still serves the owner, its word stands.
func (w statusWriter) reportOnce(ctx context.Context, planned *plan.Plan) error {
	now := planned.Blockers[0]
	if said := w.state.loggedProblem; said != nil && said.Message == now.Message {
		return nil
	}
	err := w.writeStatus(ctx, planned)
	if err == nil && !w.state.refused.HasRefusal(statusProblem) && !w.isCacheBehind && w.requeueTime.IsZero() {
		w.state.loggedProblem = &now
	}
	return err
}

// writeStatus writes the owner's status if the plan changes it. Where it may not
// be written that is logged, for there is no better place for it.
func (w statusWriter) writeStatus(ctx context.Context, planned *plan.Plan) error {
	next := status.NextStatus(w.owner, w.Program, planned, w.Now())
	old := status.StatusOf(w.owner)
	switch {
	case status.Equal(old, next):
		if !planned.Partial {
			w.state.status = keptAsWanted(old)
			w.resetFeedback()
		}
		w.confirmStatus(ctx)
		return nil
	case w.state.status.isUnchanged(old, next):
		w.confirmStatus(ctx)
		return nil
	}
	if stalled := w.unstablePlan(planned, old, next); stalled != nil {
		return w.writeStatus(ctx, stalled)
	}
	found, ok, err := w.ownerKind()
	if !ok {
		return err
	}
	if w.isOwnerHeldBack(statusProblem, func() string { return statusText(next) }, found, "status") {
		return nil
	}
	client, err := w.Client()
	if err != nil {
		return err
	}
	objects := client.Resource(found.GVR).Namespace(w.owner.GetNamespace())
	contested := w.statusConflictOf(old, next)
	if w.isStatusHeldBack(ctx, contested, objects) {
		return nil
	}
	var patcher status.Patcher = objects
	stream := w.ownerKey(found)
	writer, isPartial := w.writerFor(client, stream, w.owner.GetNamespace())
	if isPartial {
		patcher = writer
	}
	var written *unstructured.Unstructured
	release := w.holdOwnerEvents(stream)
	defer func() { release(written) }()
	writing, end := w.measured.BeginWrite(ctx, "patch", permissionset.ResourceText(found.GVR.GroupResource(), "status"), w.owner.GetNamespace())
	written, err = status.WriteStatus(writing, patcher, w.owner, next, w.Manager)
	end(telemetry.OwnerOutcome(err != nil))
	w.recordStatusConflict(contested, err)
	switch {
	case apierrors.IsConflict(err):
		w.recordStaleOwner()
		return nil
	case apierrors.IsNotFound(err):
		// The owner is gone, and its event will say so; or its kind has no status.
		w.state.status = newWrittenStatus(next, old)
		ctrllog.FromContext(ctx).V(1).Info("the owner has no status to write", "reason", err.Error())
		return nil
	case err != nil:
		w.statusRefused(ctx, found, next, err)
		if !apierrors.IsInvalid(err) || planned.Partial {
			return nil
		}
		// The policy's part of the status is what is wrong: say that, in Ambit's own.
		return w.writeStatus(ctx, planned.Stalled(v1alpha1.ReasonInvalid, err.Error()))
	}
	w.statusWritten(ctx, next, written, planned)
	w.observeAnswer(stream, written, isPartial, w.Owners)
	return nil
}

// statusWritten notes the owner as the API server answered the write of its status.
func (w statusWriter) statusWritten(ctx context.Context, next map[string]any, written *unstructured.Unstructured, planned *plan.Plan) {
	if !planned.Partial {
		w.state.refused.ForgetRefusal(statusProblem)
	}
	w.logStatus(ctx, planned)
	w.noteFeedback(status.StatusOf(w.owner), status.StatusOf(written))
	w.state.status = newWrittenStatus(next, status.StatusOf(written))
	w.owner = written
	w.confirmStatus(ctx)
}

func (w statusWriter) statusRefused(ctx context.Context, owner discovery.Resource, next map[string]any, err error) {
	problem := plan.Problem{Reason: v1alpha1.ReasonUnavailable, Message: err.Error()}
	if apierrors.IsForbidden(err) {
		problem = permissionset.Place{Namespace: w.owner.GetNamespace(), User: w.User}.ForbiddenProblem(permissionset.Missing{Resource: owner.GVR.GroupResource(), Subresource: "status", Verbs: []string{"patch"}})
	}
	a := access.Access{Verb: "patch", Group: owner.GVR.Group, Resource: owner.GVR.Resource, Subresource: "status", Name: w.owner.GetName()}
	isNews := w.recordRefusal(statusProblem, statusText(next), w.owner.GetNamespace(), a, problem)
	ctrllog.FromContext(ctx).V(refusalLevel(ctx, isNews)).Info("the owner's status cannot be written", "reason", err.Error())
}

// logStatus logs that an owner came to need somebody to act, or no longer does. What somebody
// else made of the status in between is no news.
func (w statusWriter) logStatus(ctx context.Context, planned *plan.Plan) {
	stalled := slices.IndexFunc(planned.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionStalled })
	before := w.state.status.wanted.UnpackMap(nil)
	if before == nil {
		before = status.StatusOf(w.owner)
	}
	was := status.Condition(before, v1alpha1.ConditionStalled)
	log := ctrllog.FromContext(ctx)
	switch {
	case stalled >= 0 && !isNewProblem(problemOf(was), &plan.Problem{Reason: planned.Conditions[stalled].Reason, Message: planned.Conditions[stalled].Message}):
	case stalled >= 0:
		if len(w.state.inputs.Home.Own.Missing) > 0 {
			log = log.V(1) // the namespace's missing rights are logged once, not for each owner
		}
		message := planned.Conditions[stalled].Message
		if planned.Conditions[stalled].Reason == v1alpha1.ReasonUnstable {
			message = unstableLogged
		}
		log.Info("owner is stalled", "reason", planned.Conditions[stalled].Reason, "message", message)
	case was != nil:
		log.Info("owner is no longer stalled")
	}
}

// problemOf is what a condition says; nil if there is none.
func problemOf(condition map[string]any) *plan.Problem {
	if condition == nil {
		return nil
	}
	reason, _ := condition["reason"].(string)
	message, _ := condition["message"].(string)
	return &plan.Problem{Reason: reason, Message: message}
}
