package ownerinputs

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// allNamespaces is the namespace of a cluster-wide stream.
const allNamespaces = ""

// Options are the inputs of a Planner. All functions have to be safe for concurrent use.
type Options struct {
	Program *policy.Program
	// Manager is the policy's field manager. Identity is who it acts as, as in informer.Key, and User
	// who that is, for messages.
	Manager, Identity, User string
	Kinds                   *policykinds.Kinds
	Permissions             *placepermissions.Tracker
	Scope                   *ownerscope.Scope
	Namespaces              Namespaces
	// NowhereProblem is ownerviews.Resolver.NowhereProblem.
	NowhereProblem func(denied *plan.Problem) *plan.Problem
	// IsClusterScoped reports whether the owners are of a cluster-scoped kind.
	IsClusterScoped func() bool
	// IsGone is discovery.Cache.ConfirmGone.
	IsGone func(resource schema.GroupVersionResource, since time.Time) bool
	// Enqueue has an owner looked at again; without a name, the policy itself.
	Enqueue func(owner types.NamespacedName)
}

// Namespaces is what is used of an ownerviews.NamespaceList.
type Namespaces interface {
	FollowedList() *ownerscope.Namespaces
	IsDenied() bool
}

// Planner finds the inputs of one policy's owners. Create it with New. Safe for concurrent use; one owner
// is planned for by one goroutine at a time.
type Planner struct {
	Options
	projections projections
	lastKinds   atomic.Pointer[foundKinds] // of the layout before, for owners that have the same
}

// New returns the Planner of a policy.
func New(o Options) *Planner {
	return &Planner{Options: o, projections: newProjections(o.Program, o.Manager)}
}

// Subject is what inputs are laid out for.
type Subject struct {
	Name types.NamespacedName
	// Owner is nil for what the policy itself ensures.
	Owner *unstructured.Unstructured
	// Retire: the policy does not want the owner any more.
	Retire bool
	// Queries are the places that the last plan wanted, beyond those that are known for sure.
	Queries []plan.Query
	// SharesStreams: the owners of the namespace share streams for what each of them selects.
	SharesStreams bool
	// IsSpread: the policy has owners in more than a few namespaces.
	IsSpread bool
	// Home is what may be done in the owner's own place.
	Home *permissionset.Set
}

// ownNamespace is the subject's own place.
func (s Subject) ownNamespace() string {
	if s.Owner == nil {
		return ""
	}
	return s.Owner.GetNamespace()
}

// isCleanedUp reports whether the owner is being deleted or retired, so that nothing is made for it.
func (s Subject) isCleanedUp() bool {
	return s.Retire || s.Owner != nil && s.Owner.GetDeletionTimestamp() != nil
}

// PlanInputs lays out the inputs of a subject; or says how long to wait, because it is not known yet what is
// permitted in a place. The subject uses the places from then on.
func (p *Planner) PlanInputs(ctx context.Context, subject Subject) (*Inputs, time.Duration) {
	l := p.newLayout(subject)
	s := l.inputs
	s.sharesStreams, s.isSpread, s.queries, s.cleans = subject.SharesStreams, subject.IsSpread, subject.Queries, l.cleans
	s.listed, s.selected = p.Namespaces.FollowedList(), p.Scope.SelectedNames()
	if subject.Owner != nil {
		s.uid, s.resourceVersion, s.selectedBy = subject.Owner.GetUID(), subject.Owner.GetResourceVersion(), p.selectionDigest(subject.Owner)
	}
	l.findQueries(ctx, plan.Snapshot{Owner: subject.Owner, Retire: subject.Retire})
	s.MayNeedRecord = subject.Owner != nil && (p.Program.NeedsFinalizerFor(p.Kinds.IsNamespaced) || slices.ContainsFunc(p.Program.Children, IsElsewhere))
	l.boundPlaces()
	p.Permissions.SetUses(subject.Name, l.uses)
	if wait := l.checkPermissions(); wait > 0 {
		return nil, wait
	}
	l.openChildQueries()
	s.watching = len(s.interests)
	for _, w := range l.watchQueries {
		s.watches = append(s.watches, l.openWatch(w))
	}
	s.kinds = p.shareKinds(l.kinds)
	s.children = make([]childSource, 0, len(l.children))
	for at, from := range l.children {
		s.children = append(s.children, childSource{at, from})
	}
	slices.SortFunc(s.children, func(a, b childSource) int { return plan.CompareLocations(a.at, b.at) })
	return s, 0
}

// shareKinds returns the kinds of the layout before, if these are the same.
func (p *Planner) shareKinds(found foundKinds) *foundKinds {
	last := p.lastKinds.Load()
	if last != nil && maps.Equal(last.resources, found.resources) && maps.Equal(last.namespaced, found.namespaced) {
		return last
	}
	p.lastKinds.Store(&found)
	return &found
}

// layout is one run of PlanInputs, over one subject.
type layout struct {
	*Planner
	subject Subject
	// cleans: the owner is being deleted or retired, so that nothing is made.
	cleans       bool
	childQueries []childQuery
	watchQueries []watchQuery
	uses         placeuses.ByPlace
	kinds        foundKinds
	children     map[plan.Location]source
	inputs       *Inputs
}

func (p *Planner) newLayout(subject Subject) *layout {
	return &layout{
		Planner: p, subject: subject, uses: placeuses.ByPlace{}, inputs: NewInputs(PlacePermissions{subject.Home, subject.Home}),
		kinds:    foundKinds{resources: map[schema.GroupVersionKind]discovery.Resource{}, namespaced: map[schema.GroupVersionKind]bool{}},
		children: map[plan.Location]source{},
		cleans:   subject.isCleanedUp(),
	}
}

// plannedChildren are the children of the program that the layout is about.
func (l *layout) plannedChildren() []*policy.Child {
	if l.subject.Owner == nil {
		return l.Program.Ensured
	}
	return l.Program.Children
}

// findQueries finds what has to be observed for a plan of the subject: what is for sure, and what the
// last plan wanted.
func (l *layout) findQueries(ctx context.Context, snapshot plan.Snapshot) {
	for _, child := range l.plannedChildren() {
		found, problem := l.resolveKind(child.GVK, l.cleans)
		if problem != nil {
			l.children[plan.Location{Child: child.ID}] = source{problem: problem}
			continue
		}
		l.kinds.namespaced[child.GVK] = found.Namespaced
	}
	snapshot.Namespaced = maps.Clone(l.kinds.namespaced)
	watched := l.findWatchedKinds(snapshot)
	queries := plan.Queries(ctx, l.Program, snapshot)
	for _, query := range slices.Concat(queries.Children, l.subject.Queries) {
		l.addChildQuery(query, policy.FindChild(l.plannedChildren(), query.Child))
	}
	l.findSpreadChildren()
	for i, w := range queries.Watches {
		l.addWatchQuery(w, watched[i])
	}
}

// resolveKind finds the resource of a kind. Where objects are only to be removed any version will do, as
// long as there is no better one.
func (l *layout) resolveKind(gvk schema.GroupVersionKind, removes bool) (discovery.Resource, *plan.Problem) {
	found, problem := l.Kinds.ResolveFor(l.subject.Name, gvk)
	if problem == nil || problem.Reason != v1alpha1.ReasonLimitExceeded { // else it is not looked up
		l.kinds.resources[gvk] = found
	}
	if problem != nil {
		l.inputs.complete = false
		if removes && found.GVR.Resource != "" {
			problem = nil
		}
	}
	return found, problem
}

// boundPlaces leaves out of the layout what is beyond the limits of places.
func (l *layout) boundPlaces() {
	if l.subject.Owner == nil {
		return
	}
	fit := l.Permissions.UsesIndex().FitOwner(l.subject.Name, l.uses)
	for _, owner := range fit.Crowded {
		l.Enqueue(owner)
	}
	if fit.Message == "" {
		return
	}
	problem := &plan.Problem{Reason: v1alpha1.ReasonLimitExceeded, Terminal: true, Message: fit.Message}
	l.inputs.complete, l.inputs.Crowded = false, fit.Message
	for place := range fit.Out {
		delete(l.uses, place)
	}
	l.childQueries = slices.DeleteFunc(l.childQueries, func(q childQuery) bool {
		if q.elsewhere && fit.Out[q.Namespace] {
			l.children[q.Location] = source{problem: problem}
			return true
		}
		return false
	})
	for i := range l.watchQueries {
		if w := &l.watchQueries[i]; w.problem == nil && !w.everywhere && fit.Out[w.interest.Key.Namespace] {
			w.problem = problem
		}
	}
}

// checkPermissions finds out what may be done in each place, or how long to wait for that.
func (l *layout) checkPermissions() (wait time.Duration) {
	l.inputs.Home.Own = l.ownPermissions(l.subject.ownNamespace(), l.inputs.Home.Answer)
	if len(l.uses) == 0 {
		return 0
	}
	l.inputs.elsewhere = make(map[string]PlacePermissions, len(l.uses))
	for _, place := range sortedKeys(l.uses) {
		answer, pending := l.Permissions.ForUse(place)
		if pending > 0 {
			wait = max(wait, pending)
			continue
		}
		found := PlacePermissions{Answer: answer, Own: l.ownPermissions(place, answer)}
		if l.subject.Owner != nil && place == l.subject.ownNamespace() {
			l.inputs.Home = found
		} else {
			l.inputs.elsewhere[place] = found
		}
	}
	return wait
}

// ownPermissions are the rights at a place as far as they concern this owner.
func (l *layout) ownPermissions(place string, answer *permissionset.Set) *permissionset.Set {
	if len(answer.Missing) == 0 {
		return answer
	}
	needs, _ := l.Kinds.ResourceNeeds(l.IsClusterScoped())
	return answer.RestrictTo(permissionset.Place{Namespace: place, User: l.User}, func(m permissionset.Missing, verb string) bool {
		for _, n := range needs {
			here := l.subject.Owner != nil && place == l.subject.ownNamespace() && !n.Elsewhere || l.uses.HasParts(place, n.Parts)
			if here && n.Resource == m.Resource && n.Subresource == m.Subresource && slices.Contains(n.Verbs, verb) {
				return true
			}
		}
		return slices.ContainsFunc(l.uses[place], func(u placeuses.Use) bool {
			resource, ok := l.Kinds.ResourceOf(u.Kind)
			return u.Part == "" && !u.Optional && ok && resource == m.Resource && m.Subresource == ""
		})
	})
}

// mayWatchAll says whether a resource may be watched in all namespaces together.
func (l *layout) mayWatchAll(kind discovery.Resource) bool {
	answer := l.inputs.PermissionsAt(allNamespaces).Answer
	return answer.Reviewed && answer.MayWatch(kind.GVR.GroupResource())
}
