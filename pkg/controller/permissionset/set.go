// Package permissionset has what a policy may do in one place, as a value: what of its needs is denied
// there, and what is said of that. It asks nobody; the controller makes a Set of the answers of package
// access. It does no I/O and reads no clock.
//
// What is missing is either required, and then a problem of every owner there, or optional: it is of
// use to have it, and nobody is told that it is not there. RestrictTo says what of it one owner requires.
package permissionset

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// ReviewGrace is how long work waits for the first review of a namespace: those of 300
// namespaces, at 16 a second, take two thirds of it. An API server that refuses to
// review is noticed at once.
const ReviewGrace = 30 * time.Second

// Set is what a policy may do in one namespace, or in all. It is made by AddDenied and AddMissing. Once
// others have it, it is not changed any more, and safe for concurrent use: as long as the answers are
// the same, so is the pointer.
type Set struct {
	// Reviewed: there was an answer.
	Reviewed bool
	// Refusal says why nothing at all can be done as the policy's identity; nil
	// unless that is so.
	Refusal *plan.Problem
	// Missing is in the order of the policy's needs.
	Missing []Missing
}

// Missing are the verbs on one resource that are needed and denied.
type Missing struct {
	Resource    schema.GroupResource
	Subresource string
	Verbs       []string
	Problem     plan.Problem
	// Optional: nobody has to have them.
	Optional bool
}

// Place is where something is missing, and to whom.
type Place struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// User is who the policy acts as, for messages.
	User string
}

// ProblemFor returns the problem of a resource if one of the verbs is denied, else nil.
// It names all verbs that the policy needs there and is denied.
func (r *Set) ProblemFor(resource schema.GroupResource, subresource string, verbs ...string) *plan.Problem {
	for i, m := range r.Missing {
		if m.Resource != resource || m.Subresource != subresource {
			continue
		}
		if slices.ContainsFunc(verbs, func(verb string) bool { return slices.Contains(m.Verbs, verb) }) {
			return &r.Missing[i].Problem
		}
	}
	return nil
}

// RequiredProblems appends to a list all that is missing and required, as problems.
func (r *Set) RequiredProblems(list []plan.Problem) []plan.Problem {
	for _, m := range r.Missing {
		if !m.Optional {
			list = append(list, m.Problem)
		}
	}
	return list
}

// MayWatch reports whether a stream may be opened, as far as is known.
func (r *Set) MayWatch(resource schema.GroupResource) bool {
	return r.Refusal == nil && r.ProblemFor(resource, "", "list", "watch") == nil
}

// PendingFor returns how long to wait for the first answer about a namespace; 0: go on.
func (r *Set) PendingFor(since, now time.Time) time.Duration {
	if r.Reviewed {
		return 0
	}
	return max(0, since.Add(ReviewGrace).Sub(now))
}

// String names what is missing; empty if nothing is.
func (r *Set) String() string { return r.textOf(true) }

// RequiredText names what is missing and has to be there.
func (r *Set) RequiredText() string { return r.textOf(false) }

func (r *Set) textOf(optional bool) string {
	if r.Refusal != nil {
		return r.Refusal.Message
	}
	var texts []string
	for _, m := range r.Missing {
		if optional || !m.Optional {
			texts = append(texts, m.Problem.Message)
		}
	}
	return strings.Join(texts, "; ")
}

// IsSame reports whether two sets say the same; nil says nothing.
func (r *Set) IsSame(other *Set) bool {
	return other != nil && r.Reviewed == other.Reviewed && (r.Refusal == nil) == (other.Refusal == nil) &&
		r.String() == other.String() && r.RequiredText() == other.RequiredText()
}
