package ownerviews

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Options are the inputs of a Resolver. All of them have to be set, but for User.
type Options struct {
	// Scope says in which namespaces owners may be.
	Scope *ownerscope.Scope
	// Requests and Answers are what may be done: a placepermissions.Tracker.
	Requests Requests
	Answers  Answers
	// Namespaces is the list of namespaces.
	Namespaces Namespaces
	// Views are told in which namespaces owners are looked for one by one.
	Views *Views
	// IsRetiring reports whether the policy goes: then it is no problem that it can have no owners.
	IsRetiring func() bool
	// BusyNamespaces returns the namespaces with owners that were worked on, by this revision or an
	// earlier one, in any order, and some perhaps more than once. The slice is the Resolver's.
	BusyNamespaces func() []string
	// User is who the policy acts as, for messages.
	User string
}

// Requests is what is used of a placepermissions.Tracker to have it asked what may be done.
type Requests interface {
	RequireScope(place string, scope placepermissions.Scope)
	SetScope(place string, scope placepermissions.Scope)
	ReleaseUnsought()
}

// Answers is what is used of a placepermissions.Tracker to learn what may be done.
type Answers interface {
	CurrentAt(place string) (*permissionset.Set, bool)
	PendingFor(place string, r *permissionset.Set) time.Duration
	IsKnownNarrow() bool
}

// Namespaces is what is used of a NamespaceList. MissingAccess is safe for concurrent use.
type Namespaces interface {
	ListNamespaces() (list *ownerscope.Namespaces, known bool)
	MissingAccess() permissionset.Missing
}

// Resolver finds out where a policy's owners may be watched. All its methods but NowhereProblem are called
// by one goroutine at a time, and with no lock that a function of Options takes.
type Resolver struct{ options Options }

// NewResolver returns a Resolver, which asks for nothing yet.
func NewResolver(o Options) *Resolver { return &Resolver{options: o} }

// resolution is one call of ResolveScope.
type resolution struct {
	Options
	resource   schema.GroupResource
	namespaced bool
	// isSelectionChanged: labels of namespaces select others than before.
	isSelectionChanged bool
}

// ResolveScope returns where owners of a resource may be watched, which is namespaced or not, and has
// reviewed what it has to know for that. It reports whether the namespaces that labels select are others than before:
// every owner is to be looked at then.
func (r *Resolver) ResolveScope(resource schema.GroupResource, namespaced bool) (scope WatchScope, selectionChanged bool) {
	n := &resolution{Options: r.options, resource: resource, namespaced: namespaced}
	return n.resolveScope(), n.isSelectionChanged
}

// ReleaseCandidates looks for owners in no single namespace any more, and gives back what was asked about
// namespaces for that.
func (r *Resolver) ReleaseCandidates() { r.options.setCandidates(nil) }

// setCandidates notes in which namespaces owners are looked for one by one, and drops what was asked about
// others in which there are none.
func (o Options) setCandidates(candidates []string) {
	o.Views.SetCandidates(candidates)
	o.Requests.ReleaseUnsought()
}

func (n *resolution) resolveScope() WatchScope {
	if !n.namespaced { // it is nowhere else that they can be seen
		n.setCandidates(nil)
		everywhere := n.resolveNamespace(allNamespaces)
		if everywhere.Problem == nil && n.Scope.SelectsOwners() {
			everywhere.Problem = n.outOfScopeProblem()
		}
		return everywhere
	}
	candidates, problem, done := n.findCandidates()
	if done != nil {
		return *done
	}
	scope := WatchScope{Problem: problem}
	n.setCandidates(candidates)
	for _, namespace := range candidates {
		one := n.resolveNamespace(namespace)
		scope.Watchable = append(scope.Watchable, one.Watchable...)
		scope.Undecided = append(scope.Undecided, one.Undecided...)
		if one.Problem != nil && one.Problem.Reason != v1alpha1.ReasonForbidden {
			scope.Problem = one.Problem // of the identity: it is the same everywhere
		}
	}
	return scope
}

// findCandidates returns the namespaces to look for owners in, one by one, and why there may be owners in
// others; or what is known already: that all can be watched together, or that an answer is to come.
func (n *resolution) findCandidates() (candidates []string, problem *plan.Problem, done *WatchScope) {
	if n.Scope.HasSelector() {
		return n.selectNamespaces()
	}
	candidates = n.Scope.NamedNamespaces()
	problem = n.outOfScopeProblem()
	if !slices.Contains(candidates, allNamespaces) {
		return n.addBusyNamespaces(candidates), problem, nil
	}
	all := n.resolveNamespace(allNamespaces)
	if all.Problem == nil || all.Problem.Reason != v1alpha1.ReasonForbidden {
		n.setCandidates(nil)
		return nil, nil, &all
	}
	listed, known := n.Namespaces.ListNamespaces()
	switch {
	case !known:
		return nil, nil, &WatchScope{Undecided: []string{allNamespaces}}
	case listed == nil: // those that are known already go on
		return n.Views.KnownCandidates(), n.nowhereProblem(all.Problem), nil
	}
	return n.addBusyNamespaces(listed.NamesWhere(n.Scope.HasNamespace)), nil, nil
}

// selectNamespaces returns what findCandidates does for a scope with a selector of namespaces: those that
// are known go on while the list is not to be had. Those that are no longer selected stay as long as there
// are owners to retire.
func (n *resolution) selectNamespaces() (candidates []string, problem *plan.Problem, done *WatchScope) {
	listed, known := n.Namespaces.ListNamespaces()
	switch {
	case !known && n.Views.KnownCandidates() == nil:
		return nil, nil, &WatchScope{Undecided: []string{allNamespaces}}
	case !known:
		return n.Views.KnownCandidates(), nil, nil
	case listed == nil:
		denied := n.forbiddenProblem(n.Namespaces.MissingAccess())
		denied.Message += ": spec.scope.namespaceSelector cannot be followed"
		return n.Views.KnownCandidates(), &denied, nil
	}
	names, changed := n.Scope.SetListed(listed)
	n.isSelectionChanged = changed
	return n.addBusyNamespaces(names), nil, nil
}

// addBusyNamespaces returns the names, and the namespaces outside of the scope in which there are owners
// that were worked on: what was made for them is to be removed. The result is sorted.
func (n *resolution) addBusyNamespaces(names []string) []string {
	names = slices.Clone(names)
	for _, namespace := range n.BusyNamespaces() {
		if namespace != allNamespaces && !n.Scope.HasNamespace(namespace) {
			names = append(names, namespace)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// outOfScopeProblem returns the problem that the policy can have no owners; nil if it can, or is retired:
// then there is nothing in the way.
func (n *resolution) outOfScopeProblem() *plan.Problem {
	if n.IsRetiring() {
		return nil
	}
	return n.Scope.OutOfScope()
}

// resolveNamespace looks at one namespace, or at all of them together.
func (n *resolution) resolveNamespace(namespace string) WatchScope {
	if namespace == allNamespaces {
		n.requireEverywhere()
	} else {
		n.Requests.RequireScope(namespace, placepermissions.ToSee)
	}
	r, _ := n.Answers.CurrentAt(namespace)
	switch {
	case n.Answers.PendingFor(namespace, r) > 0:
		return WatchScope{Undecided: []string{namespace}}
	case r.MayWatch(n.resource):
		return WatchScope{Watchable: []string{namespace}}
	case r.Refusal != nil:
		return WatchScope{Problem: r.Refusal}
	}
	return WatchScope{Problem: r.ProblemFor(n.resource, "", "list", "watch")}
}

// requireEverywhere asks what may be done in all namespaces: first about all that the policy needs, for
// then nothing has to be asked about each; where that is not granted, only about what it takes to see
// owners, or to work on those that are in no namespace.
func (n *resolution) requireEverywhere() {
	least := placepermissions.ToSee
	if !n.namespaced {
		least = placepermissions.AtHome
	}
	r, ok := n.Answers.CurrentAt(allNamespaces)
	switch {
	case !ok && n.Answers.IsKnownNarrow():
		n.Requests.SetScope(allNamespaces, least)
	case !ok:
		n.Requests.RequireScope(allNamespaces, placepermissions.Everything)
	case len(r.Missing) > 0 || r.Refusal != nil:
		n.Requests.SetScope(allNamespaces, least)
	default:
		n.Requests.RequireScope(allNamespaces, least) // or all, if that was asked before
	}
}

// NowhereProblem returns the problem of somebody who may neither watch in all namespaces together, as a
// problem that is not nil says, nor learn which namespaces there are. It is safe for concurrent use.
func (r *Resolver) NowhereProblem(denied *plan.Problem) *plan.Problem {
	return r.options.nowhereProblem(denied)
}

func (o Options) nowhereProblem(denied *plan.Problem) *plan.Problem {
	missing := o.Namespaces.MissingAccess()
	return &plan.Problem{
		Reason: v1alpha1.ReasonForbidden, Terminal: true, Denied: slices.Concat(denied.Denied, o.forbiddenProblem(missing).Denied),
		Message: fmt.Sprintf("%s, and cannot %s namespaces to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces",
			denied.Message, strings.Join(missing.Verbs, ", ")),
	}
}

// forbiddenProblem returns the problem of what is missing in all namespaces.
func (o Options) forbiddenProblem(missing permissionset.Missing) plan.Problem {
	return permissionset.Place{Namespace: allNamespaces, User: o.User}.ForbiddenProblem(missing)
}

// allNamespaces is the namespace of a stream that shows the owners of all namespaces.
const allNamespaces = ""

// WatchScope is where a policy's owners may be watched: in single namespaces, or in all of them together,
// which is the empty name. The zero value is nowhere. It is not changed once it was returned.
type WatchScope struct {
	// Watchable are the namespaces in which owners may be watched, in the order in which they were looked
	// at.
	Watchable []string
	// Undecided are the namespaces about which the first answer is not in.
	Undecided []string
	// Problem says why there may be owners that nobody sees; nil if there are none.
	Problem *plan.Problem
}

// CoversNamespace reports whether owners in a namespace are watched, or may yet be.
func (s WatchScope) CoversNamespace(namespace string) bool {
	return slices.Contains(s.Watchable, allNamespaces) || slices.Contains(s.Watchable, namespace) ||
		slices.Contains(s.Undecided, allNamespaces) || slices.Contains(s.Undecided, namespace)
}

// IsDecided reports whether there is an answer about each namespace.
func (s WatchScope) IsDecided() bool { return len(s.Undecided) == 0 }

// streamsAfter returns the namespaces whose streams are to be declared, sorted: those of the scope, and of
// those that there are already the ones about which nothing is decided yet, or all if a stream of all
// namespaces is to take over.
func (s WatchScope) streamsAfter(current map[string]View) []string {
	next := slices.Clone(s.Watchable)
	takesOver := slices.Equal(next, []string{allNamespaces})
	for namespace := range current {
		if !slices.Contains(next, namespace) && (takesOver || slices.Contains(s.Undecided, namespace)) {
			next = append(next, namespace)
		}
	}
	slices.Sort(next)
	return next
}
