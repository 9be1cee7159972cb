package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// permissions is what a policy may do in one namespace, or in all. It is immutable: as
// long as the answers are the same, so is the pointer.
type permissions struct {
	reviewed bool // there was an answer
	// refusal says why nothing at all can be done as the policy's identity; nil
	// unless that is so.
	refusal *plan.Problem
	missing []missingAccess // in the order of the policy's needs
}

// missingAccess are the verbs on one resource that are needed and denied.
type missingAccess struct {
	resource    schema.GroupResource
	subresource string
	verbs       []string
	problem     plan.Problem
	// optional: nobody has to have them.
	optional bool
}

// problemFor returns the problem of a resource if one of the verbs is denied, else nil.
// It names all verbs that the policy needs there and is denied.
func (r *permissions) problemFor(resource schema.GroupResource, subresource string, verbs ...string) *plan.Problem {
	for i, m := range r.missing {
		if m.resource != resource || m.subresource != subresource {
			continue
		}
		if slices.ContainsFunc(verbs, func(verb string) bool { return slices.Contains(m.verbs, verb) }) {
			return &r.missing[i].problem
		}
	}
	return nil
}

// withoutDenied appends all that is missing and required, as problems.
func (r *permissions) withoutDenied(list []plan.Problem) []plan.Problem {
	for _, m := range r.missing {
		if !m.optional {
			list = append(list, m.problem)
		}
	}
	return list
}

// restrictPermissions returns the rights as they are for somebody who requires only some of what
// is missing, and for whom the rest is of use at most. It is the same pointer where
// nothing is missing.
func (op *policyController) restrictPermissions(r *permissions, place string, requires func(m missingAccess, verb string) bool) *permissions {
	if len(r.missing) == 0 {
		return r
	}
	own := &permissions{reviewed: r.reviewed, refusal: r.refusal}
	for _, m := range r.missing {
		var required, rest []string
		for _, verb := range m.verbs {
			if !m.optional && requires(m, verb) {
				required = append(required, verb)
			} else {
				rest = append(rest, verb)
			}
		}
		own.addMissing(op, place, m, required, false)
		own.addMissing(op, place, m, rest, true)
	}
	return own
}

// addMissing notes verbs on a resource that are missing.
func (r *permissions) addMissing(op *policyController, place string, of missingAccess, verbs []string, optional bool) {
	if len(verbs) == 0 {
		return
	}
	m := missingAccess{resource: of.resource, subresource: of.subresource, verbs: verbs, optional: optional, problem: of.problem}
	if len(verbs) != len(of.verbs) || m.problem.Reason == "" {
		m.problem = op.forbiddenProblem(m, place)
	}
	r.missing = append(r.missing, m)
}

// String names what is missing; empty if nothing is.
func (r *permissions) String() string { return r.textOf(true) }

// requiredText names what is missing and has to be there.
func (r *permissions) requiredText() string { return r.textOf(false) }

func (r *permissions) textOf(optional bool) string {
	if r.refusal != nil {
		return r.refusal.Message
	}
	var texts []string
	for _, m := range r.missing {
		if optional || !m.optional {
			texts = append(texts, m.problem.Message)
		}
	}
	return strings.Join(texts, "; ")
}

// isSame says whether two rights say the same.
func (r *permissions) isSame(other *permissions) bool {
	return other != nil && r.reviewed == other.reviewed && (r.refusal == nil) == (other.refusal == nil) &&
		r.String() == other.String() && r.requiredText() == other.requiredText()
}

// judgePermissions makes rights of an answer about a place.
func (op *policyController) judgePermissions(place string, a *permissionRequest, state access.State) *permissions {
	r := &permissions{reviewed: state.Reviewed || state.Refusal != nil || len(a.accesses) == 0, refusal: op.refusalProblem(state.Refusal)}
	at := access.Key{Identity: op.identity, Namespace: place}
	var denied []access.Access
	required := 0
	for i, wanted := range a.accesses {
		if op.controller.options.Access.Decide(at, wanted) != access.Denied {
			continue
		}
		denied = append(denied, wanted)
		if i < a.required {
			required = len(denied)
		}
	}
	r.addDenied(op, place, denied[:required], false)
	r.addDenied(op, place, denied[required:], true)
	return r
}

// addDenied notes what is missing, by resource, in the order of the accesses.
func (r *permissions) addDenied(op *policyController, place string, denied []access.Access, optional bool) {
	for i, a := range denied {
		isSame := func(b access.Access) bool {
			return a.Group == b.Group && a.Resource == b.Resource && a.Subresource == b.Subresource
		}
		if slices.ContainsFunc(denied[:i], isSame) {
			continue
		}
		var verbs []string
		for _, b := range denied[i:] {
			if isSame(b) {
				verbs = append(verbs, b.Verb)
			}
		}
		slices.SortFunc(verbs, v1alpha1.CompareVerbs)
		of := missingAccess{resource: schema.GroupResource{Group: a.Group, Resource: a.Resource}, subresource: a.Subresource}
		r.addMissing(op, place, of, verbs, optional)
	}
}

// forbiddenProblem is the problem of missing verbs.
func (op *policyController) forbiddenProblem(m missingAccess, namespace string) plan.Problem {
	p := plan.Problem{
		Reason: v1alpha1.ReasonForbidden, Terminal: true,
		Message: fmt.Sprintf("cannot %s %s %s as %s", strings.Join(m.verbs, ", "), resourceText(m.resource, m.subresource), inNamespace(namespace), op.userName()),
	}
	for _, verb := range m.verbs {
		p.Denied = append(p.Denied, v1alpha1.DeniedAccess{
			Verb: verb, Group: m.resource.Group, Resource: joinResource(m.resource.Resource, m.subresource),
			Namespace: namespace, Message: p.Message,
		})
	}
	return p
}

// refusalProblem is the problem of an identity that is refused as such.
func (op *policyController) refusalProblem(err error) *plan.Problem {
	switch {
	case err == nil:
		return nil
	case apierrors.IsUnauthorized(err):
		return &plan.Problem{Reason: v1alpha1.ReasonUnauthenticated, Terminal: true,
			Message: fmt.Sprintf("the API server does not accept %s: %v", op.userName(), err)}
	case op.identity != "":
		return op.impersonation.refusedProblem()
	}
	// Not even reviews are allowed: what may be done is found out by doing it.
	return nil
}

// closeRevoked closes the streams that are no longer permitted.
func (op *policyController) closeRevoked(namespace string, r *permissions) {
	close := func(covers func(schema.GroupResource) bool, why string) {
		op.controller.options.Informers.RevokeInformers(func(key informer.Key) bool {
			return key.Identity == op.identity && key.Namespace == namespace && covers(key.GVR.GroupResource())
		}, errors.New(why))
	}
	if r.refusal != nil {
		close(func(schema.GroupResource) bool { return true }, r.refusal.Message)
		return
	}
	for _, m := range r.missing {
		if r.problemFor(m.resource, "", "list", "watch") != nil {
			close(func(resource schema.GroupResource) bool { return resource == m.resource }, m.problem.Message)
		}
	}
}

// recheckNamespaces opens the streams of single namespaces anew that were permitted because
// something was permitted in all: perhaps they are no longer, and each will be
// reviewed, but that takes its time.
func (op *policyController) recheckNamespaces(everywhere *permissions) {
	op.controller.options.Informers.ExpireWatches(func(key informer.Key) bool {
		return key.Identity == op.identity && key.Namespace != allNamespaces && !everywhere.mayWatch(key.GVR.GroupResource())
	})
}

// reviewGrace is how long work waits for the first review of a namespace: those of 300
// namespaces, at 16 a second, take two thirds of it. An API server that refuses to
// review is noticed at once.
const reviewGrace = 30 * time.Second

// confirmGrace is how long a refusal waits to be confirmed by a review before it
// is told: some round trips.
const confirmGrace = 500 * time.Millisecond

// pendingFor says how long to wait for the first answer about a namespace; 0: go on.
func (r *permissions) pendingFor(since, now time.Time) time.Duration {
	if r.reviewed {
		return 0
	}
	return max(0, since.Add(reviewGrace).Sub(now))
}

// resourceText is as in `deployments.apps` or `memcacheds.cache.example.com/status`.
func resourceText(resource schema.GroupResource, subresource string) string {
	return joinResource(resource.String(), subresource)
}

func joinResource(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}

// splitResource is the reverse of joined.
func splitResource(text string) (resource, subresource string) {
	resource, subresource, _ = strings.Cut(text, "/")
	return resource, subresource
}

func inNamespace(namespace string) string {
	if namespace == allNamespaces {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %q", namespace)
}
