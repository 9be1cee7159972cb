package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
)

// watchQuery is a watch of the policy as it is for one owner.
type watchQuery struct {
	plan.WatchQuery
	watchedKind
	need informer.Interest
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
func (l *inputPlanner) findWatchedKinds(subject plan.Snapshot) []watchedKind {
	if subject.Owner == nil || subject.Retire {
		return nil
	}
	watched := make([]watchedKind, len(l.program.Watches))
	for i, w := range l.program.Watches {
		found, problem := l.kinds.ResolveKind(w.GVK)
		watched[i] = watchedKind{kind: found, unknown: problem}
		l.s.kinds[w.GVK] = found
		if problem != nil {
			l.s.complete = false
			continue
		}
		subject.Namespaced[w.GVK] = found.Namespaced
	}
	return watched
}

// addWatchQuery adds what a watch of the policy is for this owner.
func (l *inputPlanner) addWatchQuery(query plan.WatchQuery, at watchedKind) {
	w := watchQuery{WatchQuery: query, watchedKind: at, problem: at.unknown}
	if w.problem == nil {
		w.problem = l.addWatchNeed(&w)
	}
	l.watchQueries = append(l.watchQueries, w)
}

// addWatchNeed says which informer a watch needs, and makes use of its places.
func (l *inputPlanner) addWatchNeed(w *watchQuery) *plan.Problem {
	p := l.projections.watches[w.ID]
	w.need = informer.Interest{
		Key:    informer.Key{Identity: l.identity, GVR: w.kind.GVR, Namespace: l.ownNamespace(), FieldSelector: w.FieldSelector, Form: p.form},
		Fields: p.fields, Kind: w.GVK.Kind,
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
	w.need.Key.LabelSelector = w.Labels.String()
	if l.sharesStreams() && w.Selector.OwnerSpecific() {
		w.need.Key.LabelSelector = w.Selector.Relaxed()
		w.need.IndexLabel, w.need.IndexValue = w.IndexLabel, w.IndexValue
	}
	return nil
}

// sharesStreams says whether owners share one stream for what each selects by labels.
func (l *inputPlanner) sharesStreams() bool {
	switch l.program.Informers {
	case v1alpha1.InformersOwner:
		return false
	case v1alpha1.InformersNamespace, v1alpha1.InformersCluster:
		return true
	}
	return l.s.shared
}

// addWatchPlace notes where the objects are, and makes use of it.
func (l *inputPlanner) addWatchPlace(w *watchQuery, namespace string) {
	if w.kind.Namespaced && w.AllNamespaces {
		w.everywhere = true
		l.s.seeks = true
		l.searchAllNamespaces(w)
		return
	}
	w.need.Key.Namespace = namespace
	if w.Namespace != nil || w.AllNamespaces || !w.kind.Namespaced && !l.isClusterScoped.Load() {
		l.uses.AddUse(namespace, placeuses.Use{Part: w.ID})
	}
	if w.wide = l.program.Informers == v1alpha1.InformersCluster && namespace != ""; w.wide {
		l.uses.AddUse(allNamespaces, placeuses.Use{Part: w.ID, Optional: true})
	}
}

// searchAllNamespaces makes use of all namespaces together, and of each where that is not
// permitted or the scope has not all.
func (l *inputPlanner) searchAllNamespaces(w *watchQuery) {
	w.need.Key.Namespace = allNamespaces
	if !l.scope.IsLimited() {
		l.uses.AddUse(allNamespaces, placeuses.Use{Part: w.ID, Optional: true})
	}
	if !l.scope.IsLimited() && !l.isDeniedEverywhere(w.ID) {
		return
	}
	var names []string
	names, w.searched = l.scope.SearchedNamespaces(l.s.inside, l.s.spaces)
	for _, namespace := range names {
		l.uses.AddUse(namespace, placeuses.Use{Part: w.ID, Optional: true})
	}
}

// unsearchedProblem is the problem of a watch in all namespaces as long as it is not known
// which there are, and has to be: that it shows nothing says nothing.
func (l *inputPlanner) unsearchedProblem(w watchQuery) *plan.Problem {
	l.s.complete = false
	key := Key{Policy: l.id} // on whose turn namespaces are listed
	if _, known := l.scope.SearchedNamespaces(l.s.inside, l.s.spaces); known {
		key.Namespace, key.Name = l.name.Namespace, l.name.Name // it has only now turned out that it is denied
	}
	l.controller.enqueue(key)
	denied := l.s.permissionsAt(allNamespaces).answer.ProblemFor(w.kind.GVR.GroupResource(), "", "list", "watch")
	if l.namespaceList.IsDenied() && denied != nil {
		return l.scopeResolver.NowhereProblem(denied)
	}
	return &plan.Problem{Reason: v1alpha1.ReasonSyncing, Message: "waiting for the list of namespaces to look for " + w.ID + " in"}
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
	w.need.Key.FieldSelector = fields.AndSelectors(pushed, by).String()
	return nil
}

// openWatch needs the streams of a watch.
func (l *inputPlanner) openWatch(w watchQuery) inputSource {
	if w.problem != nil {
		return inputSource{problem: w.problem}
	}
	resource := w.kind.GVR.GroupResource()
	if w.everywhere {
		return l.openEverywhere(w)
	}
	if w.wide && l.mayWatchAll(w.kind) {
		return l.openClusterWide(w)
	}
	if problem := l.s.permissionsAt(w.need.Key.Namespace).own.ProblemFor(resource, "", "list", "watch"); problem != nil {
		return inputSource{problem: problem}
	}
	return l.addInterest(w.need)
}

// openClusterWide needs a stream of all namespaces for a watch in one.
func (l *inputPlanner) openClusterWide(w watchQuery) inputSource {
	need := w.need
	need.Key.Namespace = allNamespaces
	at := l.addInterest(need)
	at.wide, at.namespace = true, w.need.Key.Namespace
	return at
}

// openEverywhere needs the stream of all namespaces, or those of the ones where it is
// permitted.
func (l *inputPlanner) openEverywhere(w watchQuery) inputSource {
	if !l.scope.IsLimited() && l.mayWatchAll(w.kind) {
		at := l.addInterest(w.need)
		at.scoped = true
		return at
	}
	if !w.searched {
		return inputSource{problem: l.unsearchedProblem(w)}
	}
	at := inputSource{from: len(l.s.needs), lenient: true}
	for _, namespace := range sortedKeys(l.s.elsewhere) {
		r := l.s.elsewhere[namespace].answer
		if namespace == allNamespaces || !slices.Contains(l.uses[namespace], placeuses.Use{Part: w.ID, Optional: true}) || !r.MayWatch(w.kind.GVR.GroupResource()) {
			continue
		}
		need := w.need
		need.Key.Namespace = namespace
		l.s.needs = append(l.s.needs, need)
	}
	at.to = len(l.s.needs)
	return at
}
