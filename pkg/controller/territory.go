package controller

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// territory is where a policy's owners are watched: in these namespaces, or
// cluster-wide ([allNamespaces]).
type territory struct {
	streams []string // sorted
	// undecided are namespaces about which the first answer is not in.
	undecided []string
	// problem says why there may be owners that nobody sees; nil if there are none.
	problem *plan.Problem
}

// covers says whether owners in a namespace are, or may yet be, watched.
func (t territory) covers(namespace string) bool {
	return slices.Contains(t.streams, allNamespaces) || slices.Contains(t.streams, namespace) ||
		slices.Contains(t.undecided, allNamespaces) || slices.Contains(t.undecided, namespace)
}

// survey finds out where owners may be watched: cluster-wide where that is
// permitted and the scope is not limited; otherwise in each namespace of the
// scope in which it is permitted.
func (op *operator) survey(owner discovery.Resource) territory {
	resource := owner.GVR.GroupResource()
	if !owner.Namespaced { // it is nowhere else that they can be seen
		op.keepPlaces(nil)
		everywhere := op.surveyOne(allNamespaces, resource)
		if everywhere.problem == nil && op.namespaceOwners() {
			everywhere.problem = op.outOfScope()
		}
		return everywhere
	}
	candidates, problem, done := op.lookAround(resource)
	if done != nil {
		return *done
	}
	t := territory{problem: problem}
	op.keepPlaces(candidates)
	for _, namespace := range candidates {
		one := op.surveyOne(namespace, resource)
		t.streams = append(t.streams, one.streams...)
		t.undecided = append(t.undecided, one.undecided...)
		if one.problem != nil && one.problem.Reason != v1alpha1.ReasonForbidden {
			t.problem = one.problem // of the identity: it is the same everywhere
		}
	}
	return t
}

// lookAround returns the namespaces to look for owners in, one by one, and why there
// may be others; or what is known already: that all can be watched together, or that
// this is to be waited for.
func (op *operator) lookAround(resource schema.GroupResource) (candidates []string, problem *plan.Problem, done *territory) {
	if op.program.NamespaceSelector != nil {
		return op.selected()
	}
	candidates = scope(op.program, op.engine.options.Namespaces)
	problem = op.outOfScope()
	if !slices.Contains(candidates, allNamespaces) {
		return op.stillBusy(candidates), problem, nil
	}
	all := op.surveyOne(allNamespaces, resource)
	if all.problem == nil || all.problem.Reason != v1alpha1.ReasonForbidden {
		op.keepPlaces(nil)
		return nil, nil, &all
	}
	listed, known := op.listNamespaces()
	switch {
	case !known:
		return nil, nil, &territory{undecided: []string{allNamespaces}}
	case listed == nil: // those that are known already go on
		return op.known(), op.nowhere(all.problem), nil
	}
	return op.stillBusy(listed.names(op.inScope)), nil, nil
}

// outOfScope is the problem that the policy can have no owners; nil if it can, or if it is
// retired: then there is nothing in the way.
func (op *operator) outOfScope() *plan.Problem {
	if op.retiring {
		return nil
	}
	return outOfScope(op.program, op.engine.options.Namespaces)
}

// surveyOne looks at one namespace, or at all of them together.
func (op *operator) surveyOne(namespace string, resource schema.GroupResource) territory {
	if namespace == allNamespaces {
		op.askEverywhere()
	} else {
		op.ask(namespace, toSee)
	}
	r, _ := op.answer(namespace)
	switch {
	case r.pending(op.since(namespace), op.engine.now()) > 0:
		return territory{undecided: []string{namespace}}
	case r.mayWatch(resource):
		return territory{streams: []string{namespace}}
	case r.refusal != nil:
		return territory{problem: r.refusal}
	}
	return territory{problem: r.lacks(resource, "", "list", "watch")}
}

// askEverywhere asks what may be done in all namespaces: first about all that the
// policy needs, for then nothing has to be asked about each; where that is not
// granted, only about what it takes to see owners, or to work on those that are in no
// namespace.
func (op *operator) askEverywhere() {
	least := toSee
	if op.roaming.Load() {
		least = atHome
	}
	r, ok := op.answer(allNamespaces)
	switch {
	case !ok && op.isKnownNarrow():
		op.put(allNamespaces, least)
	case !ok:
		op.ask(allNamespaces, everything)
	case len(r.missing) > 0 || r.refusal != nil:
		op.put(allNamespaces, least)
	default:
		op.ask(allNamespaces, least) // or all, if that was asked before
	}
}

// nowhere is the problem of a policy without limits that may neither watch its
// owners cluster-wide nor learn which namespaces there are.
func (op *operator) nowhere(denied *plan.Problem) *plan.Problem {
	resource := namespaces.GroupResource()
	_, missed := decide(op.engine.options.Access, op.everywhere(), reading(resource))
	m := missing{resource: resource, verbs: verbsOf(missed)}
	list := op.forbidden(m, allNamespaces)
	return &plan.Problem{
		Reason: v1alpha1.ReasonForbidden, Terminal: true, Denied: slices.Concat(denied.Denied, list.Denied),
		Message: fmt.Sprintf("%s, and cannot %s namespaces to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces",
			denied.Message, strings.Join(m.verbs, ", ")),
	}
}

// keepPlaces drops what was asked about namespaces in which owners are no longer
// looked for, and in which there are none.
func (op *operator) keepPlaces(candidates []string) {
	op.asking.Lock()
	defer op.asking.Unlock()
	op.mu.Lock()
	op.candidates = candidates
	var idle []string
	for namespace, a := range op.asked {
		if namespace != allNamespaces && a.extent > asUsed && op.owners.WorkingIn(namespace) == 0 && !slices.Contains(candidates, namespace) {
			idle = append(idle, namespace)
		}
	}
	for namespace := range op.served {
		if candidates != nil && !slices.Contains(candidates, namespace) {
			delete(op.served, namespace)
		}
	}
	op.mu.Unlock()
	for _, namespace := range idle {
		op.leaveLocked(namespace)
	}
}
