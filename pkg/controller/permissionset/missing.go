package permissionset

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// RestrictTo returns the rights as they are for somebody who requires only some of what
// is missing, and for whom the rest is of use at most. It is the same pointer where
// nothing is missing.
func (r *Set) RestrictTo(place Place, requires func(m Missing, verb string) bool) *Set {
	if len(r.Missing) == 0 {
		return r
	}
	own := &Set{Reviewed: r.Reviewed, Refusal: r.Refusal}
	for _, m := range r.Missing {
		var required, rest []string
		for _, verb := range m.Verbs {
			if !m.Optional && requires(m, verb) {
				required = append(required, verb)
			} else {
				rest = append(rest, verb)
			}
		}
		own.AddMissing(place, m, required, false)
		own.AddMissing(place, m, rest, true)
	}
	return own
}

// AddMissing notes verbs on a resource that are missing.
func (r *Set) AddMissing(place Place, of Missing, verbs []string, optional bool) {
	if len(verbs) == 0 {
		return
	}
	m := Missing{Resource: of.Resource, Subresource: of.Subresource, Verbs: verbs, Optional: optional, Problem: of.Problem}
	if len(verbs) != len(of.Verbs) || m.Problem.Reason == "" {
		m.Problem = place.ForbiddenProblem(m)
	}
	r.Missing = append(r.Missing, m)
}

// AddDenied notes what is missing, by resource, in the order of the accesses.
func (r *Set) AddDenied(place Place, denied []access.Access, optional bool) {
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
		of := Missing{Resource: schema.GroupResource{Group: a.Group, Resource: a.Resource}, Subresource: a.Subresource}
		r.AddMissing(place, of, verbs, optional)
	}
}

// ForbiddenProblem returns the problem of missing verbs.
func (p Place) ForbiddenProblem(m Missing) plan.Problem {
	problem := plan.Problem{
		Reason: v1alpha1.ReasonForbidden, Terminal: true,
		Message: fmt.Sprintf("cannot %s %s %s as %s", strings.Join(m.Verbs, ", "), ResourceText(m.Resource, m.Subresource), inNamespace(p.Namespace), p.User),
	}
	for _, verb := range m.Verbs {
		problem.Denied = append(problem.Denied, v1alpha1.DeniedAccess{
			Verb: verb, Group: m.Resource.Group, Resource: joinResource(m.Resource.Resource, m.Subresource),
			Namespace: p.Namespace, Message: problem.Message,
		})
	}
	return problem
}

// everywhere is the namespace that stands for all of them.
const everywhere = ""

// ResourceText is as in `deployments.apps` or `memcacheds.cache.example.com/status`.
func ResourceText(resource schema.GroupResource, subresource string) string {
	return joinResource(resource.String(), subresource)
}

func joinResource(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}

// SplitResource splits a text as in `memcacheds/status`, which has no group, in two. The subresource
// is empty if there is none.
func SplitResource(text string) (resource, subresource string) {
	resource, subresource, _ = strings.Cut(text, "/")
	return resource, subresource
}

func inNamespace(namespace string) string {
	if namespace == everywhere {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %q", namespace)
}
