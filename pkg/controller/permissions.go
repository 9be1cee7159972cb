package controller

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// placeFor is a place, for messages.
func (op *policyController) placeFor(namespace string) permissionset.Place {
	return permissionset.Place{Namespace: namespace, User: op.userName()}
}

// judgePermissions makes rights of an answer about a place.
func (op *policyController) judgePermissions(place string, a *permissionRequest, state access.State) *permissionset.Set {
	r := &permissionset.Set{Reviewed: state.Reviewed || state.Refusal != nil || len(a.accesses) == 0, Refusal: op.refusalProblem(state.Refusal)}
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
	r.AddDenied(op.placeFor(place), denied[:required], false)
	r.AddDenied(op.placeFor(place), denied[required:], true)
	return r
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
func (op *policyController) closeRevoked(namespace string, r *permissionset.Set) {
	close := func(covers func(schema.GroupResource) bool, why string) {
		op.controller.options.Informers.RevokeInformers(func(key informer.Key) bool {
			return key.Identity == op.identity && key.Namespace == namespace && covers(key.GVR.GroupResource())
		}, errors.New(why))
	}
	if r.Refusal != nil {
		close(func(schema.GroupResource) bool { return true }, r.Refusal.Message)
		return
	}
	for _, m := range r.Missing {
		if r.ProblemFor(m.Resource, "", "list", "watch") != nil {
			close(func(resource schema.GroupResource) bool { return resource == m.Resource }, m.Problem.Message)
		}
	}
}

// recheckNamespaces opens the streams of single namespaces anew that were permitted because
// something was permitted in all: perhaps they are no longer, and each will be
// reviewed, but that takes its time.
func (op *policyController) recheckNamespaces(everywhere *permissionset.Set) {
	op.controller.options.Informers.ExpireWatches(func(key informer.Key) bool {
		return key.Identity == op.identity && key.Namespace != allNamespaces && !everywhere.MayWatch(key.GVR.GroupResource())
	})
}

// confirmGrace is how long a refusal waits to be confirmed by a review before it
// is told: some round trips.
const confirmGrace = 500 * time.Millisecond
