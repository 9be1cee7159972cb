package ownerinputs

import (
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// watchQuery is a watch of the policy as it is for one owner.
type watchQuery struct {
	plan.WatchQuery
	watchedKind
	interest informer.Interest
	// everywhere: in all namespaces in which it is permitted. wide: better in all
	// together, if that is permitted.
	everywhere, wide bool
	// searched: it is known in which namespaces to look one by one.
	searched bool
	problem  *plan.Problem
}

// watchedKind is the resource of a watch's kind, or why it is not known.
type watchedKind struct {
	kind    discovery.Resource
	unknown *plan.Problem
}

// findWatchedKinds finds the resources of the policy's watches, for a plan that reads them.
func (l *layout) findWatchedKinds(snapshot plan.Snapshot) []watchedKind {
	if snapshot.Owner == nil || snapshot.Retire {
		return nil
	}
	watched := make([]watchedKind, len(l.Program.Watches))
	for i, w := range l.Program.Watches {
		found, problem := l.resolveKind(w.GVK, false)
		watched[i] = watchedKind{kind: found, unknown: problem}
		if problem == nil {
			snapshot.Namespaced[w.GVK] = found.Namespaced
		}
	}
	return watched
}

// addWatchQuery adds what a watch of the policy is for this owner.
func (l *layout) addWatchQuery(query plan.WatchQuery, of watchedKind) {
	w := watchQuery{WatchQuery: query, watchedKind: of, problem: of.unknown}
	l.inputs.hasFailed = l.inputs.hasFailed || query.Problem != nil
	if w.problem == nil {
		w.problem = l.findWatchInterest(&w)
	}
	l.watchQueries = append(l.watchQueries, w)
}

// findWatchInterest says which informer a watch needs, and makes use of its places.
func (l *layout) findWatchInterest(w *watchQuery) *plan.Problem {
	p := l.projections.watches[w.ID]
	w.interest = informer.Interest{
		Key:    informer.Key{Identity: l.Identity, GVR: w.kind.GVR, Namespace: l.subject.ownNamespace(), FieldSelector: w.FieldSelector, Form: p.Form},
		Fields: p.Fields, Kind: w.GVK.Kind,
	}
	if w.Target == nil {
		return w.Problem
	}
	if problem := w.addFieldSelector(w.Target.FieldSelector); problem != nil {
		return problem
	}
	l.addWatchPlace(w, w.Target.Namespace)
	if w.Problem != nil {
		return w.Problem
	}
	w.interest.Key.LabelSelector = w.Labels.String()
	if l.sharesStreams() && w.Selector.OwnerSpecific() {
		w.interest.Key.LabelSelector = w.Selector.RelaxedText()
		w.interest.IndexLabel, w.interest.IndexValue = w.IndexLabel, w.IndexValue
	}
	return nil
}

// addFieldSelector adds what only the API server can select by.
func (w *watchQuery) addFieldSelector(by fields.Selector) *plan.Problem {
	if by == nil {
		return nil
	}
	pushed, err := fields.ParseSelector(w.FieldSelector)
	if err != nil {
		return bindings.WatchProblem(w.Watch, "fieldSelector", err)
	}
	w.interest.Key.FieldSelector = fields.AndSelectors(pushed, by).String()
	return nil
}

// sharesStreams says whether owners share one stream for what each selects by labels.
func (l *layout) sharesStreams() bool {
	switch l.Program.Informers {
	case v1alpha1.InformersOwner:
		return false
	case v1alpha1.InformersNamespace, v1alpha1.InformersCluster:
		return true
	}
	return l.subject.SharesStreams
}

// addWatchPlace notes where the objects are, and makes use of it.
func (l *layout) addWatchPlace(w *watchQuery, namespace string) {
	if w.kind.Namespaced && w.AllNamespaces {
		w.everywhere = true
		l.inputs.looksEverywhere = true
		l.searchAllNamespaces(w)
		return
	}
	w.interest.Key.Namespace = namespace
	if w.Namespace != nil || w.AllNamespaces || !w.kind.Namespaced && !l.IsClusterScoped() {
		l.uses.AddUse(namespace, placeuses.Use{Part: w.ID})
	}
	if w.wide = l.Program.Informers == v1alpha1.InformersCluster && namespace != ""; w.wide {
		l.uses.AddUse(allNamespaces, placeuses.Use{Part: w.ID, Optional: true})
	}
}

// searchAllNamespaces makes use of all namespaces together, and of each where that is not permitted or
// the scope has not all.
func (l *layout) searchAllNamespaces(w *watchQuery) {
	w.interest.Key.Namespace = allNamespaces
	if !l.Scope.IsLimited() {
		l.uses.AddUse(allNamespaces, placeuses.Use{Part: w.ID, Optional: true})
		if !l.isDeniedEverywhere(w.ID) {
			return
		}
	}
	var names []string
	names, w.searched = l.Scope.SearchedNamespaces(l.inputs.selected, l.inputs.listed)
	for _, namespace := range names {
		l.uses.AddUse(namespace, placeuses.Use{Part: w.ID, Optional: true})
	}
}

// SearchesNamespaces reports whether an owner looks for objects in each namespace, because they may not
// be watched in all of them together, and no namespaces are named.
func (p *Planner) SearchesNamespaces() bool {
	if p.Scope.HasNames() {
		return false
	}
	return slices.ContainsFunc(p.Permissions.UsesIndex().UsesIn(allNamespaces), func(u placeuses.Use) bool { return u.Optional && p.isDeniedEverywhere(u.Part) })
}

// isDeniedEverywhere reports whether a watch for objects in all namespaces has to look in each of them.
func (p *Planner) isDeniedEverywhere(id string) bool {
	i := slices.IndexFunc(p.Program.Watches, func(w *policy.Watch) bool { return w.ID == id && w.AllNamespaces })
	if i < 0 {
		return false
	}
	found, ok, _ := p.Kinds.LookupKind(p.Program.Watches[i].GVK)
	answer, asked := p.Permissions.CurrentAt(allNamespaces)
	return ok && asked && (p.Scope.HasSelector() || !answer.MayWatch(found.GVR.GroupResource()) || p.Permissions.WasDenied(found.GVR.GroupResource()))
}

// openWatch adds the streams of a watch.
func (l *layout) openWatch(w watchQuery) source {
	if w.problem != nil {
		return source{problem: w.problem}
	}
	if w.everywhere {
		return l.openEverywhere(w)
	}
	if w.wide && l.mayWatchAll(w.kind) {
		return l.openClusterWide(w)
	}
	if problem := l.inputs.PermissionsAt(w.interest.Key.Namespace).Own.ProblemFor(w.kind.GVR.GroupResource(), "", "list", "watch"); problem != nil {
		return source{problem: problem}
	}
	return l.addInterest(w.interest)
}

// openClusterWide adds a stream of all namespaces for a watch in one.
func (l *layout) openClusterWide(w watchQuery) source {
	interest := w.interest
	interest.Key.Namespace = allNamespaces
	from := l.addInterest(interest)
	from.wide, from.namespace = true, w.interest.Key.Namespace
	return from
}

// openEverywhere adds the stream of all namespaces, or those of the ones where it is permitted.
func (l *layout) openEverywhere(w watchQuery) source {
	if !l.Scope.IsLimited() && l.mayWatchAll(w.kind) {
		from := l.addInterest(w.interest)
		from.scoped = true
		return from
	}
	if !w.searched {
		return source{problem: l.unsearchedProblem(w)}
	}
	from := source{from: l.countInterests(), lenient: true}
	for _, namespace := range sortedKeys(l.inputs.elsewhere) {
		answer := l.inputs.elsewhere[namespace].Answer
		if namespace == allNamespaces || !slices.Contains(l.uses[namespace], placeuses.Use{Part: w.ID, Optional: true}) || !answer.MayWatch(w.kind.GVR.GroupResource()) {
			continue
		}
		interest := w.interest
		interest.Key.Namespace = namespace
		l.inputs.interests = append(l.inputs.interests, interest)
	}
	from.to = l.countInterests()
	return from
}

// unsearchedProblem is the problem of a watch in all namespaces as long as it is not known which there
// are, and has to be: that it shows nothing says nothing.
func (l *layout) unsearchedProblem(w watchQuery) *plan.Problem {
	l.inputs.complete = false
	next := types.NamespacedName{} // the policy, on whose turn namespaces are listed
	if _, known := l.Scope.SearchedNamespaces(l.inputs.selected, l.inputs.listed); known {
		next = l.subject.Name // it has only now turned out that it is denied
	}
	l.Enqueue(next)
	denied := l.inputs.PermissionsAt(allNamespaces).Answer.ProblemFor(w.kind.GVR.GroupResource(), "", "list", "watch")
	if l.Namespaces.IsDenied() && denied != nil {
		return l.NowhereProblem(denied)
	}
	return &plan.Problem{Reason: v1alpha1.ReasonSyncing, Message: "waiting for the list of namespaces to look for " + w.ID + " in"}
}
