package statuswriter

import (
	"maps"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// maxEventNote bounds the note of an event: the API takes 1 KiB.
const maxEventNote = 1000

// At most maxRapidChanges changes of permissions are reported that follow each other within
// rapidInterval, then none until that time has passed. Events are not correlated on the way, as
// each is about another version of the object.
const (
	maxRapidChanges = 4
	rapidInterval   = time.Minute
)

// permissionReport is the last reported condition Permitted of a policy.
type permissionReport struct {
	isDenied     bool
	at           time.Time
	rapidChanges int // how many in a row were reported shortly after the one before
}

// conditionReporter logs changed conditions, and makes events of them.
type conditionReporter struct {
	objects     map[manifest.Kind]Objects
	logger      logr.Logger
	clock       clock.Clock
	reported    map[registry.Key]policystatus.Reported // the last reported condition Ready
	permissions map[registry.Key]permissionReport      // the last reported condition Permitted
}

// forgetGone drops what was reported of policies that are gone.
func (r *conditionReporter) forgetGone(isKnown map[registry.Key]bool) {
	maps.DeleteFunc(r.reported, func(key registry.Key, _ policystatus.Reported) bool { return !isKnown[key] })
	maps.DeleteFunc(r.permissions, func(key registry.Key, _ permissionReport) bool { return !isKnown[key] })
}

// reportReady logs that the condition Ready of a policy has changed, and makes an event of it. After a
// start the condition is compared with the one that stands on the object.
func (r *conditionReporter) reportReady(p registry.PolicyState, status policystatus.Status) {
	now := policystatus.Reported{Condition: status.Ready, CleanupBlocked: status.IsCleanupBlocked()}
	if now.Reason == v1alpha1.ReasonInvalid {
		now.Message += ": " + status.Valid.Message
	}
	before, known := r.reported[p.Key]
	if known && policystatus.IsTransient(now.Reason) {
		return // it is as before until more is known
	}
	r.reported[p.Key] = now
	if now.Reason != v1alpha1.ReasonInvalid {
		before.Message = now.Message // only another mistake is news
	}
	if known && before == now {
		return
	}
	log := r.logger.WithValues("policy", v1alpha1.PolicyID(p.Namespace, p.Name), "origin", p.Origin.String(), "reason", now.Reason)
	if now.Message != "" {
		log = log.WithValues("message", now.Message)
	}
	switch {
	case p.CleanedUp: // it was logged when the cleanup ended
	case now.Status == policystatus.True:
		log.Info("policy is ready")
	case policystatus.IsTransient(now.Reason):
		log.V(1).Info("policy is not ready yet")
	default:
		log.Info("policy is not ready")
	}
	if !policystatus.IsTransient(now.Reason) && (known || now.Status != policystatus.True) {
		r.recordEvent(p, now, policystatus.IsReported)
	}
}

// reportPermitted logs that a policy lacks rights, or has them again, and makes an event of it:
// once for each change of the condition Permitted. While more is to become known of a version, or
// where the policy is not ready for the same reason, there is nothing to add.
func (r *conditionReporter) reportPermitted(p registry.PolicyState, status policystatus.Status) {
	now := status.Permitted
	if now.Status == "" || policystatus.IsTransient(status.Ready.Reason) || p.Retiring || p.Deleting {
		return
	}
	before, isDenied := r.permissions[p.Key], now.Status == policystatus.False
	if before.isDenied == isDenied {
		return
	}
	change := permissionReport{isDenied: isDenied, at: r.clock.Now()}
	if change.at.Sub(before.at) < rapidInterval {
		change.rapidChanges = before.rapidChanges + 1
	}
	if change.rapidChanges >= maxRapidChanges {
		return // the next pass compares again
	}
	r.permissions[p.Key] = change
	log := r.logger.WithValues("policy", v1alpha1.PolicyID(p.Namespace, p.Name), "origin", p.Origin.String())
	switch {
	case !isDenied:
		log.Info("policy has the rights again that it lacked")
		now.Message = "nothing that the policy needs is refused any more"
	case status.Ready.Reason == now.Reason:
		return // reportReady has said it
	default:
		log.Info("policy lacks rights", "message", now.Message)
	}
	r.recordEvent(p, policystatus.Reported{Condition: now}, policystatus.IsDenialReported)
}

// recordEvent makes an event of a condition, unless the object has the condition already: another
// Ambit may have made the event.
func (r *conditionReporter) recordEvent(p registry.PolicyState, now policystatus.Reported, isReported func(*unstructured.Unstructured, registry.PolicyState, policystatus.Reported) bool) {
	objects := r.objects[p.Origin.Kind]
	if objects == nil {
		return
	}
	object := objects.FindObject(p.Origin)
	if object == nil || isReported(object, p, now) {
		return
	}
	eventType := corev1.EventTypeNormal
	if now.Status != policystatus.True && !policystatus.IsCleanupReason(now.Reason) || now.CleanupBlocked {
		eventType = corev1.EventTypeWarning
	}
	note := now.Message
	if note == "" {
		note = "the owners of the policy are being served"
	}
	if p.Origin.Kind == manifest.ConfigMap {
		note = policyTitle(p) + " in " + p.Origin.Key + ": " + note
	}
	objects.RecordEvent(object, eventType, now.Reason, manifest.TruncateText(note, maxEventNote))
}

// policyTitle returns what a note calls a policy. One whose text cannot be read has no name.
func policyTitle(p registry.PolicyState) string {
	if p.Name == "" {
		return "a policy without a name"
	}
	return "policy " + p.Name
}
