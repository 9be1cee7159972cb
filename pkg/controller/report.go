package controller

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Denial is an access that a policy needs now and does not have.
type Denial struct {
	// Policy is the policy's namespace, if it has one, and name, joined by a slash.
	Policy string
	v1alpha1.DeniedAccess
}

// Kind is the resource with its group, as in `deployments.apps` or
// `memcacheds.cache.example.com/status`.
func (d Denial) Kind() string {
	resource, subresource := permissionset.SplitResource(d.Resource)
	return permissionset.ResourceText(schema.GroupResource{Group: d.Group, Resource: resource}, subresource)
}

// Denied returns what is denied to the policies now, whether or not an owner's
// status can say so: sorted by policy, namespace, resource and verb, each once.
// Namespaces in which a policy without limits has never been allowed to see an
// owner are not in it.
func (e *Controller) Denied() []Denial {
	var list []Denial
	for _, op := range e.revisions.AllCurrent() {
		list = append(list, policyReport{op}.listDenials()...)
	}
	return list
}

// policyReport says how a policy is. It is for any goroutine.
type policyReport struct{ *policyController }

// listDenials is Controller.Denied for one policy.
func (r policyReport) listDenials() []Denial {
	var list []Denial
	for _, d := range r.missingAccess() {
		list = append(list, Denial{Policy: r.id, DeniedAccess: d})
	}
	slices.SortStableFunc(list, compareDenials)
	return slices.CompactFunc(list, func(a, b Denial) bool { return compareDenials(a, b) == 0 })
}

func compareDenials(a, b Denial) int {
	return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), v1alpha1.CompareVerbs(a.Verb, b.Verb))
}

// Programs returns the policies that are run, those that are retired aside, sorted by
// policy. They are the controller's own.
func (e *Controller) Programs() []*policy.Program {
	var list []*policy.Program
	for _, op := range e.revisions.AllCurrent() {
		if !op.retiring {
			list = append(list, op.program)
		}
	}
	return list
}

// CountWakes returns how many owners are to be looked at again at a time, because their plans change by themselves
// then, and how many were so far.
func (e *Controller) CountWakes() (waiting int, woken int64) { return e.wakes.CountWakes() }

// PolicyError is a policy that cannot do its work as a whole.
type PolicyError struct {
	// Policy is as in Denial.
	Policy string
	// Reason is one of v1alpha1.Reason*, Message says what would have to change.
	Reason, Message string
}

// PolicyErrors returns the policies that cannot do their work as a whole, sorted by name.
func (e *Controller) PolicyErrors() []PolicyError {
	var list []PolicyError
	for _, op := range e.revisions.AllCurrent() {
		halt := policyReport{op}.policyError()
		if halt != nil {
			list = append(list, *halt)
		}
	}
	return list
}

// policyError is what keeps the policy from its work, or from a part of it; nil: nothing does.
func (r policyReport) policyError() *PolicyError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.currentProblem == nil {
		return nil
	}
	return &PolicyError{Policy: r.id, Reason: r.currentProblem.Reason, Message: r.currentProblem.Message}
}

// missingAccess is what keeps the policy as a whole from its work, what is missing in
// namespaces with owners, and what it takes to see owners in those that are named
// or where there were some.
func (r policyReport) missingAccess() []v1alpha1.DeniedAccess {
	r.mu.Lock()
	problem := r.currentProblem
	r.mu.Unlock()
	var list []v1alpha1.DeniedAccess
	if problem != nil {
		list = append(list, problem.Denied...)
	}
	named := r.scope.NamedNamespaces()
	return append(list, r.permissions.ListDenials(func(namespace string) bool {
		return slices.Contains(named, namespace) || r.ownerViews.HasServed(namespace)
	})...)
}

// Report says how a policy fares.
type Report struct {
	// Policy is as in Denial.
	Policy string
	// Serving: it is known where its owners may be watched, and each stream of owners has
	// delivered its first list. A policy that is suspended, or halted, serves nobody.
	Serving bool
	// Nowhere: there are namespaces that it looks at, and it may watch owners in none.
	Nowhere bool
	Owners  Owners
	// Denied is as Controller.Denied returns it.
	Denied []Denial
	// PolicyError is what keeps the policy from its work as a whole, or from a part of it; nil:
	// nothing does.
	PolicyError *PolicyError
}

// Reports says how each policy fares, those that are retired included, sorted by policy.
// It reads what is there: its cost grows with the number of owners and of namespaces.
func (e *Controller) Reports() []Report {
	operators := e.revisions.AllCurrent()
	list := make([]Report, len(operators))
	for i, op := range operators {
		r := policyReport{op}
		list[i] = Report{Policy: op.id, Serving: r.isServing(), Nowhere: r.isNowhere(), Owners: r.countHealth(), Denied: r.listDenials(), PolicyError: r.policyError()}
	}
	return list
}

// isServing says whether it is known where owners may be watched, and each stream of them
// has delivered its first list.
func (r policyReport) isServing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.isHalted && r.ownerViews.HasListed(false)
}

// isNowhere is Report.Nowhere. Of a kind that is not there, there are no owners to watch.
func (r policyReport) isNowhere() bool {
	if _, _, err := r.controller.discovery.LookupKnown(r.program.Owner.GVK); meta.IsNoMatchError(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.isHalted && r.ownerViews.SeesNowhere()
}
