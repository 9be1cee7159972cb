// Package policystatus says how policies fare: it makes a Status of what the registry has decided on a policy and
// of what the controller reports, and the patches that write a Status on the object of the policy. It is pure.
package policystatus

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// Status is what is to be said of a document now, wherever.
type Status struct {
	Valid Condition
	// Permitted is without a status where nothing is run.
	Permitted Condition
	Ready     Condition
	// Stalled: somebody has to act; it has the reason and the message of ready.
	Stalled bool
	Owners  int
	Denied  []v1alpha1.DeniedAccess
}

// IsCleanupBlocked reports whether the policy is cleaned up after, and that cannot go on.
func (s Status) IsCleanupBlocked() bool { return s.Stalled && IsCleanupReason(s.Ready.Reason) }

// Condition is a condition without its times.
type Condition struct{ Status, Reason, Message string }

// The values of Condition.Status, beside "" for a condition that is not there.
const (
	True  = "True"
	False = "False"
)

// Report is what runs a policy says of it.
type Report struct {
	// Policy is the policy's namespace, if it has one, and name, joined by a slash.
	Policy string
	// Serving: its owners are being looked after wherever it may watch them.
	Serving bool
	// Nowhere: there are namespaces that it looks at, and it may watch owners in none.
	Nowhere bool
	// Ready, Progressing and Stalled count its owners.
	Ready, Progressing, Stalled int
	// Denied is what it needs and may not do, sorted.
	Denied []v1alpha1.DeniedAccess
	// PolicyError is what keeps it from its work, as a whole or in part; nil: nothing does.
	PolicyError *PolicyError
}

// OwnerCount returns how many owners there are.
func (r Report) OwnerCount() int { return r.Ready + r.Progressing + r.Stalled }

// PolicyError is why a policy does not do its work.
type PolicyError struct {
	// Reason is one of v1alpha1.Reason*, Message says what would have to change.
	Reason, Message string
}

// StatusOf returns the status of a policy. r is the report on what runs because of it, nil for
// nothing. left is how many owners are left to clean up after.
func StatusOf(d registry.PolicyState, r *Report, left int) Status {
	s := Status{Valid: Condition{True, v1alpha1.ReasonValid, ""}}
	if d.State == registry.Invalid {
		s.Valid = Condition{False, v1alpha1.ReasonInvalid, d.Message}
	}
	if r != nil && d.ID != "" {
		working, cleaning := divideDenied(d.Program, r.Denied)
		s.Owners, s.Denied = r.OwnerCount(), slices.Concat(working, cleaning)
		s.Permitted = permittedCondition(working, cleaning)
	}
	s.Ready, s.Stalled = readyCondition(d, r, left)
	return s
}

// readyCondition returns the condition Ready of a policy, and whether somebody has to act. What is wrong with the
// policy itself comes before what the controller reports.
func readyCondition(d registry.PolicyState, r *Report, left int) (c Condition, stalled bool) {
	switch {
	case d.Deleting || d.Retiring:
		return cleanupCondition(d, r, left)
	case d.State == registry.Superseded || d.State == registry.Stopped:
		return Condition{False, d.Reason, d.Message}, true
	case d.State == registry.Invalid:
		return Condition{False, v1alpha1.ReasonInvalid, describeFallback(d)}, true
	case d.RetiredBySpec && d.CleanedUp:
		return retiredCondition(d)
	case d.AwaitsFinalizer || r == nil:
		return Condition{False, v1alpha1.ReasonStarting, "the policy is about to be run"}, false
	case d.Program != nil && d.Program.Suspend:
		return Condition{True, v1alpha1.ReasonSuspended, "no work is done while spec.suspend is true"}, false
	case r.PolicyError != nil:
		return Condition{False, r.PolicyError.Reason, r.PolicyError.Message}, r.PolicyError.Reason != v1alpha1.ReasonQuarantined
	case r.Nowhere && len(r.Denied) == 0:
		return Condition{False, v1alpha1.ReasonForbidden, "owners may not be watched in any namespace of the policy's scope"}, true
	case (r.Nowhere || !r.Serving) && len(r.Denied) > 0:
		return Condition{False, v1alpha1.ReasonForbidden, DescribeDenied(r.Denied)}, true
	case !r.Serving:
		return Condition{False, v1alpha1.ReasonSyncing, "the first lists of owners are not in yet"}, false
	}
	return Condition{True, v1alpha1.ReasonServing, ""}, false
}

// cleanupCondition is the condition Ready of a policy that is cleaned up after, and whether somebody has to act.
func cleanupCondition(d registry.PolicyState, r *Report, left int) (Condition, bool) {
	what, c := "the policy was deleted", Condition{Status: False, Reason: v1alpha1.ReasonDeleting}
	if d.RetiredBySpec && !d.Deleting {
		what, c.Reason = "the policy is retired by spec.retire", v1alpha1.ReasonRetiring
	}
	switch {
	case d.WhyAbandoned != "":
		c.Message = what + ", and nobody can clean up after it: " + d.WhyAbandoned + "; `ambit leftovers` shows what it may have left"
		return c, true
	case d.CleanedUp:
		c.Message = what + ", and all is cleaned up"
	case r != nil && r.PolicyError != nil:
		c.Message = what + ", and cannot clean up: " + r.PolicyError.Message
		return c, true
	case r != nil && len(neededForRemoval(r.Denied)) > 0:
		c.Message = what + ", and cannot clean up: " + DescribeDenied(neededForRemoval(r.Denied))
		return c, true
	case left > 0:
		c.Message = fmt.Sprintf("%s, and is cleaning up: %d left", what, left)
	default: // nothing is counted yet
		c.Message = what + ", and is cleaning up"
	}
	return c, false
}

// retiredCondition returns the condition Ready of a policy that spec.retire has ended, and whether somebody has to act.
func retiredCondition(d registry.PolicyState) (c Condition, stalled bool) {
	if d.WhyAbandoned != "" {
		return cleanupCondition(d, nil, 0)
	}
	return Condition{True, v1alpha1.ReasonRetired, "all that the policy made is cleaned up, as spec.retire is true: it can be deleted, or set to false to serve its owners again"}, false
}

// IsTransient reports whether a reason is one that each version of a policy goes through.
func IsTransient(reason string) bool {
	return reason == v1alpha1.ReasonStarting || reason == v1alpha1.ReasonSyncing
}

// IsCleanupReason reports whether a reason is one of a policy that is cleaned up after.
func IsCleanupReason(reason string) bool {
	return reason == v1alpha1.ReasonDeleting || reason == v1alpha1.ReasonRetiring
}

// describeFallback returns what is run in place of a version that does not compile. What is wrong
// with it says the condition Valid.
func describeFallback(d registry.PolicyState) string {
	switch {
	case d.Program == nil:
		return "the policy does not compile, and nothing is run"
	case d.Program.CleanupOnly != nil:
		return "the policy does not compile: it only cleans up after owners that are deleted"
	}
	return "the policy does not compile as it is now: the last version that did is run"
}

// Reported is a condition as logs and events report it.
type Reported struct {
	Condition
	// CleanupBlocked: the policy is cleaned up after, and that cannot go on.
	CleanupBlocked bool
}

// IsReported reports whether the condition Ready of a policy stands on its object already.
func IsReported(object *unstructured.Unstructured, p registry.PolicyState, now Reported) bool {
	if p.Origin.Kind == manifest.ConfigMap {
		return slices.ContainsFunc(summariesOn(object), func(s Summary) bool {
			return s.Key == p.Origin.Key && s.Policy == p.Name && s.Ready == (now.Status == True) && s.Reason == now.Reason
		})
	}
	was := ConditionOn(object, v1alpha1.ConditionReady)
	blocked := IsCleanupReason(now.Reason) && ConditionOn(object, v1alpha1.ConditionStalled)["status"] == True
	return was["status"] == now.Status && was["reason"] == now.Reason && blocked == now.CleanupBlocked && was["observedGeneration"] == p.Generation
}

// IsDenialReported reports whether the condition Permitted of a policy stands on its object already.
func IsDenialReported(object *unstructured.Unstructured, p registry.PolicyState, now Reported) bool {
	if p.Origin.Kind == manifest.ConfigMap {
		list := summariesOn(object)
		i := slices.IndexFunc(list, func(s Summary) bool { return s.Key == p.Origin.Key && s.Policy == p.Name })
		return i >= 0 && list[i].Denied == (now.Status == False)
	}
	return ConditionOn(object, v1alpha1.ConditionPermitted)["status"] == now.Status
}

// ConditionOn returns a condition of a custom resource; nil if it has not got it.
func ConditionOn(object *unstructured.Unstructured, kind string) map[string]any {
	status, _ := object.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if was, ok := c.(map[string]any); ok && conditionType(c) == kind {
			return was
		}
	}
	return nil
}
