package controller

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// allNamespaces is the namespace of a cluster-wide stream.
const allNamespaces = ""

// watchScope is where a policy's owners are watched: in these namespaces, or
// cluster-wide ([allNamespaces]).
type watchScope struct {
	streams []string // sorted
	// undecided are namespaces about which the first answer is not in.
	undecided []string
	// problem says why there may be owners that nobody sees; nil if there are none.
	problem *plan.Problem
}

// coversNamespace says whether owners in a namespace are, or may yet be, watched.
func (t watchScope) coversNamespace(namespace string) bool {
	return slices.Contains(t.streams, allNamespaces) || slices.Contains(t.streams, namespace) ||
		slices.Contains(t.undecided, allNamespaces) || slices.Contains(t.undecided, namespace)
}

// resolveScope finds out where owners may be watched: cluster-wide where that is
// permitted and the scope is not limited; otherwise in each namespace of the
// scope in which it is permitted.
func (op *policyController) resolveScope(owner discovery.Resource) watchScope {
	resource := owner.GVR.GroupResource()
	if !owner.Namespaced { // it is nowhere else that they can be seen
		op.keepRequests(nil)
		everywhere := op.resolveNamespace(allNamespaces, resource)
		if everywhere.problem == nil && op.scope.SelectsOwners() {
			everywhere.problem = op.outOfScopeProblem()
		}
		return everywhere
	}
	candidates, problem, done := op.scopeCandidates(resource)
	if done != nil {
		return *done
	}
	t := watchScope{problem: problem}
	op.keepRequests(candidates)
	for _, namespace := range candidates {
		one := op.resolveNamespace(namespace, resource)
		t.streams = append(t.streams, one.streams...)
		t.undecided = append(t.undecided, one.undecided...)
		if one.problem != nil && one.problem.Reason != v1alpha1.ReasonForbidden {
			t.problem = one.problem // of the identity: it is the same everywhere
		}
	}
	return t
}

// scopeCandidates returns the namespaces to look for owners in, one by one, and why there
// may be others; or what is known already: that all can be watched together, or that
// this is to be waited for.
func (op *policyController) scopeCandidates(resource schema.GroupResource) (candidates []string, problem *plan.Problem, done *watchScope) {
	if op.program.NamespaceSelector != nil {
		return op.selectedNamespaces()
	}
	candidates = op.scope.NamedNamespaces()
	problem = op.outOfScopeProblem()
	if !slices.Contains(candidates, allNamespaces) {
		return op.addBusyNamespaces(candidates), problem, nil
	}
	all := op.resolveNamespace(allNamespaces, resource)
	if all.problem == nil || all.problem.Reason != v1alpha1.ReasonForbidden {
		op.keepRequests(nil)
		return nil, nil, &all
	}
	listed, known := op.listNamespaces()
	switch {
	case !known:
		return nil, nil, &watchScope{undecided: []string{allNamespaces}}
	case listed == nil: // those that are known already go on
		return op.knownCandidates(), op.nowhereProblem(all.problem), nil
	}
	return op.addBusyNamespaces(listed.NamesWhere(op.inScope)), nil, nil
}

// outOfScopeProblem is the problem that the policy can have no owners; nil if it can, or if it is
// retired: then there is nothing in the way.
func (op *policyController) outOfScopeProblem() *plan.Problem {
	if op.retiring {
		return nil
	}
	return op.scope.OutOfScope()
}

// resolveNamespace looks at one namespace, or at all of them together.
func (op *policyController) resolveNamespace(namespace string, resource schema.GroupResource) watchScope {
	if namespace == allNamespaces {
		op.requireEverywhere()
	} else {
		op.permissions.RequireScope(namespace, placepermissions.ToSee)
	}
	r, _ := op.permissions.CurrentAt(namespace)
	switch {
	case op.permissions.PendingFor(namespace, r) > 0:
		return watchScope{undecided: []string{namespace}}
	case r.MayWatch(resource):
		return watchScope{streams: []string{namespace}}
	case r.Refusal != nil:
		return watchScope{problem: r.Refusal}
	}
	return watchScope{problem: r.ProblemFor(resource, "", "list", "watch")}
}

// requireEverywhere asks what may be done in all namespaces: first about all that the
// policy needs, for then nothing has to be asked about each; where that is not
// granted, only about what it takes to see owners, or to work on those that are in no
// namespace.
func (op *policyController) requireEverywhere() {
	least := placepermissions.ToSee
	if op.isClusterScoped.Load() {
		least = placepermissions.AtHome
	}
	r, ok := op.permissions.CurrentAt(allNamespaces)
	switch {
	case !ok && op.permissions.IsKnownNarrow():
		op.permissions.SetScope(allNamespaces, least)
	case !ok:
		op.permissions.RequireScope(allNamespaces, placepermissions.Everything)
	case len(r.Missing) > 0 || r.Refusal != nil:
		op.permissions.SetScope(allNamespaces, least)
	default:
		op.permissions.RequireScope(allNamespaces, least) // or all, if that was asked before
	}
}

// nowhereProblem is the problem of a policy without limits that may neither watch its
// owners cluster-wide nor learn which namespaces there are.
func (op *policyController) nowhereProblem(denied *plan.Problem) *plan.Problem {
	m := op.missingForNamespaces()
	list := op.placeFor(allNamespaces).Forbidden(m)
	return &plan.Problem{
		Reason: v1alpha1.ReasonForbidden, Terminal: true, Denied: slices.Concat(denied.Denied, list.Denied),
		Message: fmt.Sprintf("%s, and cannot %s namespaces to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces",
			denied.Message, strings.Join(m.Verbs, ", ")),
	}
}

// keepRequests drops what was asked about namespaces in which owners are no longer
// looked for, and in which there are none.
func (op *policyController) keepRequests(candidates []string) {
	op.mu.Lock()
	op.candidates = candidates
	for namespace := range op.servedNamespaces {
		if candidates != nil && !slices.Contains(candidates, namespace) {
			delete(op.servedNamespaces, namespace)
		}
	}
	op.mu.Unlock()
	op.permissions.ReleaseUnsought()
}
