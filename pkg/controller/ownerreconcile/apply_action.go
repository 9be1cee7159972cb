package ownerreconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// childWriter carries out the actions of a run's plans.
type childWriter struct{ *Reconciler }

// applyAction carries out an action, unless it was tried in this reconcile already. An action
// that was refused a short while ago counts as done: the refusal still stands.
func (w childWriter) applyAction(ctx context.Context, action plan.Action) (did bool, err error) {
	id := fmt.Sprintf("%s %s %s/%s %s %s", action.Verb, action.GVK, action.Namespace, action.Name, action.UID, action.Digest)
	if w.triedActions[id] {
		return false, nil
	}
	w.triedActions[id] = true
	w.seekKind(action.GVK)
	found, ok, err := w.Kinds.LookupKind(action.GVK)
	if !ok {
		return false, err
	}
	at := w.state.inputs.PermissionsAt(action.Namespace)
	if w.isHeldBack(action.Key(), func() string { return writeText(action) }, at, at.Own.ProblemFor(found.GVR.GroupResource(), "", verbOf(action))) ||
		w.isHeldBack(action.Key(), func() string { return labelsText(action) }, at, nil) {
		return true, nil
	}
	if w.needsRecord(action) {
		is, did, err := ownerWriter(w).verifyRecord(ctx)
		if !is {
			return did, err
		}
	}
	applier, err := w.newApplier()
	if err != nil {
		return false, err
	}
	if w.isChildHeldBack(ctx, action, applier.Client.Resource(found.GVR).Namespace(action.Namespace)) {
		return true, nil
	}
	streams := w.streamsOf(action, found)
	if len(streams) == 1 {
		if writer, ok := w.writerFor(applier.Client, streams[0], action.Namespace); ok {
			applier.Writer = writer
		}
	}
	var outcome apply.Outcome
	release := w.holdEvents(streams, types.NamespacedName{Namespace: action.Namespace, Name: action.Name}, w.state.handler)
	defer func() { release(outcome.Object) }()
	sent := w.Now()
	outcome, err = w.carryOut(ctx, applier, action, found)
	if err != nil {
		return false, err
	}
	if outcome.Problem != nil {
		w.handleRefusal(ctx, action, accessOf(action, found), *outcome.Problem)
		return true, nil
	}
	if w.lacksLabels(ctx, action, found, outcome) {
		return true, nil
	}
	w.takeOutcome(ctx, action, streams, outcome, sent)
	if !outcome.Stale && !outcome.Met {
		w.state.conflicts.RecordWrite(action, w.Backoff, w.Now())
	}
	return true, nil
}

// needsRecord says whether what an action makes, or merges, is found again by the record of
// the owner alone.
func (w childWriter) needsRecord(action plan.Action) bool {
	switch {
	case w.owner == nil:
		return false
	case action.Verb == plan.Create && action.Claim == "":
		child := w.childOf(action)
		return child != nil && child.CrossNamespace // the record has the place
	}
	return action.Verb == plan.Create || action.Verb == plan.Merge
}

// carryOut sends an action, measured.
func (w childWriter) carryOut(ctx context.Context, applier apply.Applier, action plan.Action, k discovery.Resource) (apply.Outcome, error) {
	ctx, end := w.measured.BeginWrite(ctx, verbOf(action), k.GVR.GroupResource().String(), action.Namespace)
	outcome, err := applier.CarryOut(ctx, action, apply.Target{Resource: k.GVR, OwnerUID: w.ownerUID(), OwnerNamespace: w.ownerNamespace(), Lives: w.OwnerExists})
	if err != nil {
		end(telemetry.OutcomeRefused)
		return outcome, err
	}
	how := telemetry.OutcomeOf(action, outcome)
	end(how)
	if ctx.Err() == nil {
		w.measured.ObserveWrite(k.GVR.GroupResource(), how)
	}
	return outcome, nil
}

// handleRefusal lets the next plan know that an action was refused.
func (w childWriter) handleRefusal(ctx context.Context, action plan.Action, a access.Access, problem plan.Problem) {
	if problem.Reason == v1alpha1.ReasonKindMissing || problem.Reason == v1alpha1.ReasonNamespaceTerminating {
		w.state.conflicts.ForgetChild(action) // it went with its kind or namespace
	}
	if problem.Reason == v1alpha1.ReasonUnavailable {
		w.recordLost(action)
	}
	isNews := w.recordRefusal(action.Key(), writeText(action), action.Namespace, a, problem)
	actionLog(ctx, action).V(refusalLevel(ctx, isNews)).Info("refused", "reason", problem.Reason, "message", problem.Message)
}

// takeOutcome lets the next plan know what an action that was sent then, and accepted, has made. streams
// are those that show it.
func (w childWriter) takeOutcome(ctx context.Context, action plan.Action, streams []informer.Key, outcome apply.Outcome, sent time.Time) {
	log := actionLog(ctx, action)
	switch {
	case outcome.Stale:
	case outcome.Met: // no stream may show it yet
		w.recordLost(action)
	case action.Verb == plan.Delete && outcome.Object != nil: // it is on its way out
	default:
		w.LostWrites.RecordAnswer(w.ownerUID(), keyOfAction(action))
	}
	if w.state.refused.HasRefusal(action.Key()) && !outcome.Stale {
		log.Info("no longer refused")
		w.forgetRefusal(action.Key())
	}
	switch {
	case outcome.Stale:
		w.isCacheBehind = true
		log.V(1).Info("the cache is behind; will try again")
	case outcome.Met:
		w.existing = append(w.existing, existingObject{kind: action.GVK, object: outcome.Object})
		w.recordAnswer(action, outcome.Object.GetUID(), sent)
		log.V(1).Info("it was there already")
	case outcome.Object != nil && action.Verb == plan.Delete && slices.ContainsFunc(w.existing, func(m existingObject) bool { return m.hidden && m.isAbout(action) }):
		w.dropExisting(action)
		w.existing = append(w.existing, existingObject{kind: action.GVK, object: outcome.Object, hidden: true})
		log.V(1).Info("on its way out", "because", action.Reason)
	case outcome.Object != nil:
		w.dropExisting(action)
		if action.Verb == plan.Create {
			w.recordAnswer(action, outcome.Object.GetUID(), sent)
		}
		w.recordNormalized(action, outcome.Object)
		for _, key := range streams {
			w.observeAnswer(key, outcome.Object, outcome.IsPartial, w.state.handler)
		}
		if outcome.Adopted {
			log.Info("taken over", "because", action.Reason)
		}
		log.V(1).Info("done", "because", action.Reason)
	default:
		w.dropExisting(action)
		w.recordAnswer(action, "", sent)
		delete(w.state.serverNormalized, action.UID)
		for _, key := range streams {
			w.Informers.Deleted(key, lastSeen(action), w.state.handler)
		}
		log.Info("deleted", "because", action.Reason)
	}
}

// recordAnswer notes the uid that an action's object was answered to have; empty: it is gone.
func (w childWriter) recordAnswer(action plan.Action, uid types.UID, sent time.Time) {
	w.answers.RecordAnswer(keyOfAction(action), uid, sent)
}

// recordLost notes that streams may not show what an action has made, or merged into, if that is led to
// by the record and not named in it.
func (w childWriter) recordLost(action plan.Action) {
	if w.owner == nil {
		return
	}
	isMerge := action.Verb == plan.Merge
	if isMerge || action.Verb == plan.Create && action.Claim == "" && w.needsRecord(action) {
		w.LostWrites.RecordLost(w.ownerUID(), keyOfAction(action), isMerge)
	}
}

// existingObject is an object of ours that the cache does not show.
type existingObject struct {
	kind   schema.GroupVersionKind
	object *unstructured.Unstructured
	// hidden: no stream may ever show it, nor that it goes. The owner is looked at again.
	hidden bool
	// before: it was met by the reconcile before, so that what the cache shows by now is newer.
	before bool
}

// isNamed says whether another object has the name.
func (m existingObject) isNamed(obj *unstructured.Unstructured) bool {
	return obj.GetName() == m.object.GetName() && obj.GetNamespace() == m.object.GetNamespace()
}

func (m existingObject) isHidden() bool { return m.hidden }

// isAbout says whether an action is on the object.
func (m existingObject) isAbout(action plan.Action) bool {
	return m.kind.GroupKind() == action.GVK.GroupKind() && m.object.GetName() == action.Name && m.object.GetNamespace() == action.Namespace
}

// dropExisting forgets the object of an action: the cache shows what became of it.
func (w childWriter) dropExisting(action plan.Action) {
	w.existing = slices.DeleteFunc(w.existing, func(m existingObject) bool { return m.isAbout(action) })
}

// recordNormalized remembers what the API server made of an object that was written, where it is not
// what was asked for: see plan.NormalizedDigest.
func (w childWriter) recordNormalized(action plan.Action, live *unstructured.Unstructured) {
	delete(w.state.serverNormalized, live.GetUID())
	if action.Object == nil {
		return
	}
	if digest := plan.NormalizedDigest(action, live, cmp.Or(action.Manager, w.Manager)); digest != "" {
		w.state.serverNormalized[live.GetUID()] = digest
	}
}

// streamsOf are the streams of children that show the object of an action: by our
// labels, or by name where it is not ours.
func (w childWriter) streamsOf(action plan.Action, k discovery.Resource) []informer.Key {
	merged := action.Verb == plan.Merge || action.Verb == plan.Release
	var keys []informer.Key
	for interest := range w.state.inputs.ChildStreams() {
		key := interest.Key
		here := key.GVR == k.GVR && (key.Namespace == action.Namespace || key.Namespace == allNamespaces)
		if here && (key.FieldSelector == "" || key.FieldSelector == ownerinputs.ByName(action.Name)) && (key.LabelSelector == "" || !merged) {
			keys = append(keys, key)
		}
	}
	return keys
}
