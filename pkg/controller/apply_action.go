package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/refusedwrites"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// applyAction carries out an action, unless it was tried in this reconcile already. An action
// that was refused a short while ago counts as done: the refusal still stands.
func (p *ownerReconciler) applyAction(ctx context.Context, action plan.Action) (did bool, err error) {
	id := fmt.Sprintf("%s %s %s/%s %s %s", action.Verb, action.GVK, action.Namespace, action.Name, action.UID, action.Digest)
	if p.triedActions[id] {
		return false, nil
	}
	p.triedActions[id] = true
	p.seekKind(action.GVK)
	found, ok, err := p.kinds.LookupKind(action.GVK)
	if !ok {
		return false, err
	}
	at := p.state.inputs.PermissionsAt(action.Namespace)
	if p.isHeldBack(action.Key(), func() string { return writeText(action) }, at, at.Own.ProblemFor(found.GVR.GroupResource(), "", verbOf(action))) ||
		p.isHeldBack(action.Key(), func() string { return labelsText(action) }, at, nil) {
		return true, nil
	}
	if p.needsRecord(action) {
		if is, did, err := p.verifyRecord(ctx); !is {
			return did, err
		}
	}
	applier, err := p.newApplier()
	if err != nil {
		return false, err
	}
	if p.isChildHeldBack(ctx, action, applier.Client.Resource(found.GVR).Namespace(action.Namespace)) {
		return true, nil
	}
	sent := p.controller.now()
	outcome, err := p.applyTraced(ctx, applier, action, found)
	if err != nil {
		return false, err
	}
	if outcome.Problem != nil {
		p.handleRefusal(ctx, action, accessOf(action, found), *outcome.Problem)
		return true, nil
	}
	if p.lacksLabels(ctx, action, found, outcome) {
		return true, nil
	}
	p.takeOutcome(ctx, action, outcome, sent)
	if !outcome.Stale && !outcome.Met {
		p.state.conflicts.RecordWrite(action, p.controller.backoffAfter, p.controller.now())
	}
	return true, nil
}

// newApplier returns who writes for the policy.
func (p *ownerReconciler) newApplier() (apply.Applier, error) {
	client, err := p.controller.options.Clients(p.identity)
	return apply.Applier{Client: client, Manager: p.manager, Identity: p.userName()}, err
}

// isHeldBack says whether a write is not to be tried now, and notes why: the right is
// missing, or the same write was refused a short while ago. what tells writes
// apart.
func (p *ownerReconciler) isHeldBack(key string, what func() string, at ownerinputs.PlacePermissions, denied *plan.Problem) bool {
	if denied != nil {
		p.problems[key] = *denied
		p.state.refused.ForgetRefusal(key)
		return true
	}
	problem, still := p.state.refused.CurrentProblem(key, what, at.Answer, p.controller.now())
	if still {
		p.problems[key] = problem
	}
	return still
}

// ownerUID is empty for what the policy itself ensures.
func (p *ownerReconciler) ownerUID() types.UID {
	if p.owner == nil {
		return ""
	}
	return p.owner.GetUID()
}

// ownerNamespace is empty for what the policy itself ensures.
func (p *ownerReconciler) ownerNamespace() string {
	if p.owner == nil {
		return ""
	}
	return p.owner.GetNamespace()
}

// recordRefusal notes that a write in a place was refused, and says whether that is news. A
// right that is missing is confirmed by a review; a is what was tried.
func (p *ownerReconciler) recordRefusal(key, what, place string, a access.Access, problem plan.Problem) (news bool) {
	p.problems[key] = problem
	r := refusedwrites.Refusal{Write: what, Problem: problem, Permissions: p.state.inputs.PermissionsAt(place).Answer}
	switch problem.Reason {
	case v1alpha1.ReasonForbidden, v1alpha1.ReasonUnauthenticated, v1alpha1.ReasonImpersonationRefused:
		for _, d := range problem.Denied { // perhaps not the write, but a read before it
			a.Verb = d.Verb
		}
		p.permissions.ReportDenied(place, a)
		p.isRefusalUnconfirmed, r.AtLeast = true, 2*placepermissions.ConfirmGrace
	}
	return p.state.refused.RecordRefusal(key, r, p.controller.backoffAfter, p.controller.now())
}

// forgetRefusal is for a write that was accepted. Another one of the same key may have been held
// back in this reconcile: it is not any more.
func (p *ownerReconciler) forgetRefusal(key string) {
	p.state.refused.ForgetRefusal(key)
	delete(p.problems, key)
}

// accessOf is the right that an action needs. The authorizer does not see the name
// of a new object: it is not in the request's path.
func accessOf(action plan.Action, k discovery.Resource) access.Access {
	a := access.Access{Verb: verbOf(action), Group: k.GVR.Group, Resource: k.GVR.Resource}
	if action.Verb != plan.Create {
		a.Name = action.Name
	}
	return a
}

// verbOf is the right that an action needs.
func verbOf(action plan.Action) string {
	switch action.Verb {
	case plan.Create:
		return "create"
	case plan.Delete:
		return "delete"
	}
	return "patch"
}

func actionLog(ctx context.Context, action plan.Action) logr.Logger {
	object := action.Name
	if action.Namespace != "" {
		object = action.Namespace + "/" + object
	}
	return ctrllog.FromContext(ctx).WithValues("verb", action.Verb, "kind", action.GVK.Kind, "object", object)
}

// handleRefusal lets the next plan know that an action was refused.
func (p *ownerReconciler) handleRefusal(ctx context.Context, action plan.Action, a access.Access, problem plan.Problem) {
	if problem.Reason == v1alpha1.ReasonKindMissing || problem.Reason == v1alpha1.ReasonNamespaceTerminating {
		p.state.conflicts.ForgetChild(action) // it went with its kind or namespace
	}
	if problem.Reason == v1alpha1.ReasonUnavailable {
		p.recordLost(action)
	}
	level := 1
	if p.recordRefusal(action.Key(), writeText(action), action.Namespace, a, problem) && ctx.Err() == nil {
		level = 0
	}
	actionLog(ctx, action).V(level).Info("refused", "reason", problem.Reason, "message", problem.Message)
}

// takeOutcome lets the next plan know what an action that was sent then, and accepted, has made.
func (p *ownerReconciler) takeOutcome(ctx context.Context, action plan.Action, outcome apply.Outcome, sent time.Time) {
	log := actionLog(ctx, action)
	switch {
	case outcome.Stale:
	case outcome.Met: // no stream may show it yet
		p.recordLost(action)
	case action.Verb == plan.Delete && outcome.Object != nil: // it is on its way out
	default:
		p.lostWrites.RecordAnswer(p.ownerUID(), keyOfAction(action))
	}
	if p.state.refused.HasRefusal(action.Key()) && !outcome.Stale {
		log.Info("no longer refused")
		p.forgetRefusal(action.Key())
	}
	switch {
	case outcome.Stale:
		p.isCacheBehind = true
		log.V(1).Info("the cache is behind; will try again")
	case outcome.Met:
		p.existing = append(p.existing, existingObject{kind: action.GVK, object: outcome.Object})
		p.recordAnswer(action, outcome.Object.GetUID(), sent)
		log.V(1).Info("it was there already")
	case outcome.Object != nil && action.Verb == plan.Delete && slices.ContainsFunc(p.existing, func(m existingObject) bool { return m.hidden && m.isAbout(action) }):
		p.dropExisting(action)
		p.existing = append(p.existing, existingObject{kind: action.GVK, object: outcome.Object, hidden: true})
		log.V(1).Info("on its way out", "because", action.Reason)
	case outcome.Object != nil:
		p.dropExisting(action)
		if action.Verb == plan.Create {
			p.recordAnswer(action, outcome.Object.GetUID(), sent)
		}
		p.recordNormalized(action, outcome.Object)
		for _, key := range p.streamsOf(action) {
			p.controller.options.Informers.Observe(key, outcome.Object, p.state.subscriber)
		}
		if outcome.Adopted {
			log.Info("taken over", "because", action.Reason)
		}
		log.V(1).Info("done", "because", action.Reason)
	default:
		p.dropExisting(action)
		p.recordAnswer(action, "", sent)
		delete(p.state.serverNormalized, action.UID)
		for _, key := range p.streamsOf(action) {
			p.controller.options.Informers.Deleted(key, lastSeen(action), p.state.subscriber)
		}
		log.Info("deleted", "because", action.Reason)
	}
}

// recordAnswer notes the uid that an action's object was answered to have; empty: it is gone.
func (p *ownerReconciler) recordAnswer(action plan.Action, uid types.UID, sent time.Time) {
	p.answers.RecordAnswer(keyOfAction(action), uid, sent)
}

// recordLost notes that streams may not show what an action has made, or merged into, if that is led to
// by the record and not named in it.
func (p *ownerReconciler) recordLost(action plan.Action) {
	if p.owner == nil {
		return
	}
	isMerge := action.Verb == plan.Merge
	if isMerge || action.Verb == plan.Create && action.Claim == "" && p.needsRecord(action) {
		p.lostWrites.RecordLost(p.ownerUID(), keyOfAction(action), isMerge)
	}
}

// keyOfAction names the object of an action.
func keyOfAction(action plan.Action) inventory.ObjectKey {
	return inventory.ObjectKey{Kind: action.GVK.GroupKind(), Namespace: action.Namespace, Name: action.Name}
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
func (p *ownerReconciler) dropExisting(action plan.Action) {
	p.existing = slices.DeleteFunc(p.existing, func(m existingObject) bool { return m.isAbout(action) })
}

// recordNormalized remembers what the API server made of an object that was written, where it is not
// what was asked for: see plan.NormalizedDigest.
func (p *ownerReconciler) recordNormalized(action plan.Action, live *unstructured.Unstructured) {
	delete(p.state.serverNormalized, live.GetUID())
	if action.Object == nil {
		return
	}
	if digest := plan.NormalizedDigest(action, live, cmp.Or(action.Manager, p.manager)); digest != "" {
		p.state.serverNormalized[live.GetUID()] = digest
	}
}

// digestOf is equal for equal texts, and small: what was refused may be large.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// writeText says what an action writes: equal for equal writes.
func writeText(action plan.Action) string {
	var object []byte
	if action.Object != nil {
		object, _ = json.Marshal(action.Object.Object) // JSON-like by construction
	}
	return fmt.Sprintf("%s %s %s", action.Verb, action.UID, object)
}

// streamsOf are the streams of children that show the object of an action: by our
// labels, or by name where it is not ours.
func (p *ownerReconciler) streamsOf(action plan.Action) []informer.Key {
	found, ok, _ := p.kinds.LookupKind(action.GVK)
	if !ok {
		return nil
	}
	merged := action.Verb == plan.Merge || action.Verb == plan.Release
	var keys []informer.Key
	for interest := range p.state.inputs.ChildStreams() {
		key := interest.Key
		here := key.GVR == found.GVR && (key.Namespace == action.Namespace || key.Namespace == allNamespaces)
		if here && (key.FieldSelector == "" || key.FieldSelector == ownerinputs.ByName(action.Name)) && (key.LabelSelector == "" || !merged) {
			keys = append(keys, key)
		}
	}
	return keys
}

// lastSeen is what an action says of the object that it deleted.
func lastSeen(action plan.Action) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(action.GVK)
	obj.SetNamespace(action.Namespace)
	obj.SetName(action.Name)
	obj.SetUID(action.UID)
	obj.SetResourceVersion(action.ResourceVersion)
	return obj
}
