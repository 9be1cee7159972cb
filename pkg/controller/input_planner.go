package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// wideSpread is how many namespaces the objects of a child may be in before they are
// watched in all namespaces together, where that is permitted.
const wideSpread = 4

// inputPlanner plans the streams for one owner, or for what the policy itself ensures. It
// makes no request. It belongs to one worker.
type inputPlanner struct {
	*policyController
	owner *unstructured.Unstructured // nil for what is ensured
	name  types.NamespacedName
	// cleans: the owner is being deleted or retired, so that nothing is made.
	cleans       bool
	childQueries []childQuery
	watchQueries []watchQuery
	uses         placeuses.ByPlace
	s            *ownerInputs
}

// childQuery is a place to look for objects of a child in.
type childQuery struct {
	plan.Query
	kind      discovery.Resource
	elsewhere bool // not in the owner's own place, or not known to be
	merged    bool
	wide      bool // better watched in all namespaces together, if that is permitted
}

// planInputs finds the streams for an owner; or says how long to wait, because it is not
// known yet what is permitted in a place.
func (p *ownerReconciler) planInputs(ctx context.Context, shared bool, home *permissionset.Set) (*ownerInputs, time.Duration) {
	l := &inputPlanner{policyController: p.policyController, owner: p.owner, name: p.state.subscriber.name, uses: placeuses.ByPlace{}, s: newOwnerInputs()}
	l.s.shared, l.s.wants, l.s.home = shared, p.state.queries, placePermissions{answer: home, own: home}
	l.s.spaces, l.s.inside = p.namespaceList.FollowedList(), p.scope.SelectedNames()
	if p.owner != nil {
		l.s.uid, l.s.resourceVersion = p.owner.GetUID(), p.owner.GetResourceVersion()
	}
	l.cleans = p.retire || p.owner != nil && p.owner.GetDeletionTimestamp() != nil
	l.findQueries(ctx, plan.Snapshot{Owner: p.owner, Retire: p.retire}, p.state.queries)
	l.s.records = p.owner != nil && (p.program.NeedsFinalizerFor(p.kinds.IsNamespaced) || slices.ContainsFunc(p.program.Children, isElsewhere))
	l.boundPlaces()
	p.permissions.SetUses(l.name, l.uses)
	if wait := l.checkPermissions(); wait > 0 {
		return nil, wait
	}
	l.openChildQueries()
	l.s.watching = len(l.s.needs)
	for _, w := range l.watchQueries {
		l.s.watches[w.ID] = l.openWatch(w)
	}
	return l.s, 0
}

// plannedChildren are the children of the program that the layout is about.
func (l *inputPlanner) plannedChildren() []*policy.Child {
	if l.owner == nil {
		return l.program.Ensured
	}
	return l.program.Children
}

// ownNamespace is the owner's own place.
func (l *inputPlanner) ownNamespace() string {
	if l.owner == nil {
		return ""
	}
	return l.owner.GetNamespace()
}

// findQueries finds what has to be observed for a plan of the subject: what is for sure, and
// what the last plan wanted.
func (l *inputPlanner) findQueries(ctx context.Context, subject plan.Snapshot, wants []plan.Query) {
	for _, child := range l.plannedChildren() {
		found, problem := l.findKind(child.GVK, l.cleans)
		if problem != nil {
			l.s.children[plan.Location{Child: child.ID}] = inputSource{problem: problem}
			continue
		}
		l.s.namespaced[child.GVK] = found.Namespaced
	}
	subject.Namespaced = maps.Clone(l.s.namespaced)
	watched := l.findWatchedKinds(subject)
	queries := plan.Queries(ctx, l.program, subject)
	for _, want := range slices.Concat(queries.Children, wants) {
		l.addChildQuery(want, policy.FindChild(l.plannedChildren(), want.Child))
	}
	l.findSpreadChildren()
	for i, w := range queries.Watches {
		l.addWatchQuery(w, watched[i])
	}
}

// findKind finds the resource of a kind. Where objects are only to be removed any version
// will do, as long as there is no better one.
func (l *inputPlanner) findKind(gvk schema.GroupVersionKind, removes bool) (discovery.Resource, *plan.Problem) {
	found, problem := l.kinds.ResolveFor(l.name, gvk)
	if problem == nil || problem.Reason != v1alpha1.ReasonLimitExceeded { // else it is not looked up
		l.s.kinds[gvk] = found
	}
	if problem != nil {
		l.s.complete = false
		if removes && found.GVR.Resource != "" {
			problem = nil
		}
	}
	return found, problem
}

// addChildQuery adds one place of a child, or of what is left of one that the policy does not
// have any more.
func (l *inputPlanner) addChildQuery(want plan.Query, child *policy.Child) {
	if _, found := l.s.children[want.Location]; found {
		return
	}
	found, problem := l.findKind(want.GVK, l.cleans || child == nil)
	if problem != nil {
		l.s.children[want.Location] = inputSource{problem: problem}
		return
	}
	l.s.namespaced[want.GVK] = found.Namespaced
	if l.owner != nil && found.Namespaced != (want.Namespace != "") {
		l.s.children[want.Location] = inputSource{} // nothing can be there, whatever a record says
		return
	}
	at := childQuery{Query: want, kind: found, merged: want.Names != nil && l.owner != nil}
	at.elsewhere = child == nil || l.owner == nil || child.CrossNamespace || l.isOtherNamespace(want.Namespace, found)
	l.childQueries = append(l.childQueries, at)
	l.s.children[want.Location] = inputSource{} // until its streams are opened
	switch {
	case !at.elsewhere:
	case child == nil:
		l.uses.AddUse(want.Namespace, placeuses.Use{Kind: want.GVK, Released: at.merged})
	default:
		l.uses.AddUse(want.Namespace, placeuses.Use{Part: child.ID})
	}
}

// isOtherNamespace reports whether objects of a kind in a namespace are not in the owner's own place.
// A child that may only be there can be elsewhere by the owner's record.
func (l *inputPlanner) isOtherNamespace(namespace string, found discovery.Resource) bool {
	if l.isClusterScoped.Load() {
		return false
	}
	return !found.Namespaced || namespace != l.ownNamespace()
}

// findSpreadChildren finds the children that are better watched in all namespaces together.
func (l *inputPlanner) findSpreadChildren() {
	if l.owner == nil || l.program.Informers == v1alpha1.InformersNamespace || l.program.Informers == v1alpha1.InformersOwner {
		return
	}
	mine := map[string]int{} // spots, by child
	for _, s := range l.childQueries {
		mine[s.Child]++
	}
	for i := range l.childQueries {
		s := &l.childQueries[i]
		child := policy.FindChild(l.plannedChildren(), s.Child)
		if !s.kind.Namespaced || s.merged || !l.isSpread(child, mine[s.Child]) {
			continue
		}
		s.wide = true
		if child == nil {
			l.uses.AddUse(allNamespaces, placeuses.Use{Kind: s.GVK, Optional: true})
		} else {
			l.uses.AddUse(allNamespaces, placeuses.Use{Part: child.ID, Optional: true})
		}
	}
}

// isSpread reports whether the objects of a child, of which this owner has so many spots,
// are in many namespaces; nil: of one that the policy does not have any more. What is only
// in this owner's record says nothing about the other owners.
func (l *inputPlanner) isSpread(child *policy.Child, mine int) bool {
	switch {
	case child != nil && l.program.Informers == v1alpha1.InformersCluster:
		return true
	case child == nil || !child.CrossNamespace || mine > wideSpread:
		return mine > wideSpread
	}
	return l.permissions.UsesIndex().CountPlaces(child.ID) > wideSpread
}

// boundPlaces leaves out of the layout what is beyond the limits of places.
func (l *inputPlanner) boundPlaces() {
	if l.owner == nil {
		return
	}
	b := l.permissions.UsesIndex().FitOwner(l.name, l.uses)
	for _, owner := range b.Crowded {
		l.controller.enqueue(Key{Policy: l.id, Namespace: owner.Namespace, Name: owner.Name})
	}
	if b.Message == "" {
		return
	}
	problem := limitProblem(b.Message)
	l.s.complete, l.s.crowded = false, b.Message
	for place := range b.Out {
		delete(l.uses, place)
	}
	l.childQueries = slices.DeleteFunc(l.childQueries, func(s childQuery) bool {
		if s.elsewhere && b.Out[s.Namespace] {
			l.s.children[s.Location] = inputSource{problem: problem}
			return true
		}
		return false
	})
	for i := range l.watchQueries {
		if w := &l.watchQueries[i]; w.problem == nil && !w.everywhere && b.Out[w.need.Key.Namespace] {
			w.problem = problem
		}
	}
}

// checkPermissions finds out what may be done in each place, or how long to wait for that.
func (l *inputPlanner) checkPermissions() (wait time.Duration) {
	l.s.home.own = l.ownPermissions(l.ownNamespace(), l.s.home.answer)
	if len(l.uses) == 0 {
		return 0
	}
	l.s.elsewhere = make(map[string]placePermissions, len(l.uses))
	for _, place := range sortedKeys(l.uses) {
		r, pending := l.permissions.ForUse(place)
		if pending > 0 {
			wait = max(wait, pending)
			continue
		}
		found := placePermissions{answer: r, own: l.ownPermissions(place, r)}
		if l.owner != nil && place == l.ownNamespace() {
			l.s.home = found
		} else {
			l.s.elsewhere[place] = found
		}
	}
	return wait
}

// ownPermissions are the rights at a place as far as they concern this owner.
func (l *inputPlanner) ownPermissions(place string, r *permissionset.Set) *permissionset.Set {
	if len(r.Missing) == 0 {
		return r
	}
	needs, _ := l.kinds.ResourceNeeds(l.isClusterScoped.Load())
	return r.Restrict(l.placeFor(place), func(m permissionset.Missing, verb string) bool {
		for _, n := range needs {
			here := l.owner != nil && place == l.ownNamespace() && !n.Elsewhere || l.uses.HasParts(place, n.Parts)
			if here && n.Resource == m.Resource && n.Subresource == m.Subresource && slices.Contains(n.Verbs, verb) {
				return true
			}
		}
		return slices.ContainsFunc(l.uses[place], func(u placeuses.Use) bool {
			resource, ok := l.kinds.ResourceOf(u.Kind)
			return u.Part == "" && !u.Optional && ok && resource == m.Resource && m.Subresource == ""
		})
	})
}

// mayWatchAll says whether a resource may be watched in all namespaces together.
func (l *inputPlanner) mayWatchAll(k discovery.Resource) bool {
	r := l.s.permissionsAt(allNamespaces).answer
	return r.Reviewed && r.MayWatch(k.GVR.GroupResource())
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
