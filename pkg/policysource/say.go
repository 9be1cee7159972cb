package policysource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// said is what is to be said of a document now, wherever.
type said struct {
	valid condition
	// permitted is without a status where nothing is run.
	permitted condition
	ready     condition
	// stalled: somebody has to act; it has the reason and the message of ready.
	stalled bool
	owners  int
	denied  []v1alpha1.DeniedAccess
}

// condition is a condition without its times.
type condition struct{ status, reason, message string }

const (
	isTrue  = "True"
	isFalse = "False"
)

// say says how a document fares. r is what the engine reports of what is run because of
// it, nil for nothing; left is how many owners are left to clean up.
func say(d document, r *Report, left int) said {
	s := said{valid: condition{isTrue, v1alpha1.ReasonValid, ""}}
	if d.state == Invalid {
		s.valid = condition{isFalse, v1alpha1.ReasonInvalid, d.message}
	}
	if r != nil && d.id != "" {
		working, cleaning := divide(d.program, r.Denied)
		s.owners, s.denied = r.owners(), slices.Concat(working, cleaning)
		s.permitted = permitted(working, cleaning)
	}
	s.ready, s.stalled = ready(d, r, left)
	return s
}

// permitted says what is missing for the work, and to clean up outside of the scope.
func permitted(working, cleaning []v1alpha1.DeniedAccess) condition {
	var lines []string
	if len(working) > 0 {
		lines = append(lines, deniedText(working))
	}
	if len(cleaning) > 0 {
		lines = append(lines, cleaningText(cleaning))
	}
	if len(lines) == 0 {
		return condition{isTrue, v1alpha1.ReasonPermitted, ""}
	}
	return condition{isFalse, v1alpha1.ReasonForbidden, shortened(strings.Join(lines, "; "), mostMessage)}
}

// mostNamed is how many denied accesses a message names.
const mostNamed = 3

// deniedText names what is denied, the first of it at least.
func deniedText(denied []v1alpha1.DeniedAccess) string {
	var lines []string
	for _, a := range denied {
		if len(lines) == mostNamed {
			break
		}
		message := a.Message
		if message == "" {
			message = fmt.Sprintf("cannot %s %s in namespace %q", a.Verb, a.Resource, a.Namespace)
		}
		if len(lines) == 0 || lines[len(lines)-1] != message {
			lines = append(lines, message)
		}
	}
	if more := len(denied) - mostNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("%d accesses are denied in all", len(denied)))
	}
	return shortened(strings.Join(lines, "; "), mostMessage)
}

// ready says whether the owners of a document are being served, and whether somebody
// has to act. What is wrong with the document comes before what the engine says.
func ready(d document, r *Report, left int) (c condition, stalled bool) {
	switch {
	case d.deleting || d.retiring:
		return ending(d, r, left)
	case d.state == Superseded || d.state == Stopped:
		return condition{isFalse, d.reason, d.message}, true
	case d.state == Invalid:
		return condition{isFalse, v1alpha1.ReasonInvalid, instead(d)}, true
	case d.retires && d.done:
		return retired(d)
	case d.held || r == nil:
		return condition{isFalse, v1alpha1.ReasonStarting, "the policy is about to be run"}, false
	case d.program != nil && d.program.Suspend:
		return condition{isTrue, v1alpha1.ReasonSuspended, "no work is done while spec.suspend is true"}, false
	case r.PolicyError != nil:
		return condition{isFalse, r.PolicyError.Reason, r.PolicyError.Message}, r.PolicyError.Reason != v1alpha1.ReasonQuarantined
	case r.Nowhere && len(r.Denied) == 0:
		return condition{isFalse, v1alpha1.ReasonForbidden, "owners may not be watched in any namespace of the policy's scope"}, true
	case (r.Nowhere || !r.Serving) && len(r.Denied) > 0:
		return condition{isFalse, v1alpha1.ReasonForbidden, deniedText(r.Denied)}, true
	case !r.Serving:
		return condition{isFalse, v1alpha1.ReasonSyncing, "the first lists of owners are not in yet"}, false
	}
	return condition{isTrue, v1alpha1.ReasonServing, ""}, false
}

// ending says how far it is with a policy that is cleaned up after.
func ending(d document, r *Report, left int) (condition, bool) {
	what, c := "the policy was deleted", condition{status: isFalse, reason: v1alpha1.ReasonDeleting}
	if d.retires && !d.deleting {
		what, c.reason = "the policy is retired by spec.retire", v1alpha1.ReasonRetiring
	}
	switch {
	case d.abandoned != "":
		c.message = what + ", and nobody can clean up after it: " + d.abandoned + "; `ambit leftovers` shows what it may have left"
		return c, true
	case d.done:
		c.message = what + ", and all is cleaned up"
	case r != nil && r.PolicyError != nil:
		c.message = what + ", and cannot clean up: " + r.PolicyError.Message
		return c, true
	case r != nil && len(toRemove(r.Denied)) > 0:
		c.message = what + ", and cannot clean up: " + deniedText(toRemove(r.Denied))
		return c, true
	case left > 0:
		c.message = fmt.Sprintf("%s, and is cleaning up: %d left", what, left)
	default: // nothing is counted yet
		c.message = what + ", and is cleaning up"
	}
	return c, false
}

// retired says of a policy that its text has ended it, or that this cannot be.
func retired(d document) (c condition, stalled bool) {
	if d.abandoned != "" {
		return ending(d, nil, 0)
	}
	return condition{isTrue, v1alpha1.ReasonRetired, "all that the policy made is cleaned up, as spec.retire is true: it can be deleted, or set to false to serve its owners again"}, false
}

// isEnding reports whether a reason is one of a policy that is cleaned up after.
func isEnding(reason string) bool {
	return reason == v1alpha1.ReasonDeleting || reason == v1alpha1.ReasonRetiring
}

// toRemove is what of denied accesses keeps from cleaning up, which creates nothing.
func toRemove(denied []v1alpha1.DeniedAccess) []v1alpha1.DeniedAccess {
	return slices.DeleteFunc(slices.Clone(denied), func(a v1alpha1.DeniedAccess) bool { return a.Verb == "create" })
}

// instead says what is run in place of a version that does not compile. What is wrong
// with it says the condition Valid.
func instead(d document) string {
	switch {
	case d.program == nil:
		return "the policy does not compile, and nothing is run"
	case d.program.CleanupOnly != nil:
		return "the policy does not compile: it only cleans up after owners that are deleted"
	}
	return "the policy does not compile as it is now: the last version that did is run"
}
