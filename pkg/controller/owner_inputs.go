package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ownerInputs are the streams that an owner's plan is made from. They depend on the
// owner's content, on the places that its plan wants, on how its namespace's watches
// are laid out, on what is permitted there, and on which kinds are known, and on
// nothing else.
type ownerInputs struct {
	uid             types.UID
	resourceVersion string
	shared          bool
	complete        bool                   // every kind is known
	wants           []plan.Query           // that they were laid out for
	spaces          *ownerscope.Namespaces // as of the layout; nil unless a watch looks in all namespaces
	inside          *[]string              // the same, for a scope with a selector
	seeks           bool                   // a watch looks in all namespaces
	records         bool                   // the owner may come to need a record of its children
	crowded         string                 // why not all places are used, for users; empty if all are

	home      placePermissions            // the owner's own place
	elsewhere map[string]placePermissions // others

	needs      []informer.Interest // those of children first
	views      []informer.Lister   // as needs
	watching   int                 // the first need that is one of a watch
	namespaced map[schema.GroupVersionKind]bool
	children   map[plan.Location]inputSource
	watches    map[string]inputSource                         // by watch id
	kinds      map[schema.GroupVersionKind]discovery.Resource // that were looked up, as they were found
}

func newOwnerInputs() *ownerInputs {
	return &ownerInputs{
		complete:   true,
		namespaced: map[schema.GroupVersionKind]bool{}, children: map[plan.Location]inputSource{}, watches: map[string]inputSource{}, kinds: map[schema.GroupVersionKind]discovery.Resource{},
	}
}

// placePermissions is a place, and what may be done there.
type placePermissions struct {
	// answer is the place's: another pointer, other rights.
	answer *permissionset.Set
	// own is what of it concerns this owner.
	own *permissionset.Set
}

// inputSource says where the input of a place or watch comes from: needs, or nowhere for a
// reason.
type inputSource struct {
	from, to int // of the needs
	// wide: the needs show other namespaces as well. For a watch, namespace is then the
	// one that is meant.
	wide      bool
	namespace string
	// scoped: of what the needs show only what is not excluded from the scope.
	scoped bool
	// lenient: what may not be watched is left out.
	lenient bool
	problem *plan.Problem
}

// permissionsAt returns a place of the sources.
func (s *ownerInputs) permissionsAt(namespace string) placePermissions {
	if found, ok := s.elsewhere[namespace]; ok {
		return found
	}
	return s.home
}

// standingProblems are all rights that are missing and concern the owner.
func (s *ownerInputs) standingProblems() []plan.Problem {
	list := s.home.own.RequiredProblems(nil)
	for _, place := range sortedKeys(s.elsewhere) {
		list = s.elsewhere[place].own.RequiredProblems(list)
	}
	return list
}

// haveInputsFor says whether the sources of an earlier reconcile are still right.
func (p *ownerReconciler) haveInputsFor(s *ownerInputs, shared bool, home *permissionset.Set) bool {
	if s == nil || !s.complete || p.permissions.UsesIndex().IsCrowded(p.state.subscriber.name) || s.shared != shared || s.home.answer != home {
		return false
	}
	if p.owner != nil && (s.uid != p.owner.GetUID() || s.resourceVersion != p.owner.GetResourceVersion()) {
		return false
	}
	if s.seeks && (s.spaces != p.namespaceList.FollowedList() || s.inside != p.scope.SelectedNames()) {
		return false
	}
	for gvk, as := range s.kinds {
		if found, ok, _ := p.kinds.LookupKind(gvk); !ok || found != as {
			return false
		}
	}
	for place, known := range s.elsewhere {
		if r, wait := p.permissions.ForUse(place); wait > 0 || r != known.answer {
			return false
		}
	}
	return slices.EqualFunc(s.wants, p.state.queries, isSameWant)
}

func isSameWant(a, b plan.Query) bool {
	return a.Location == b.Location && a.GVK == b.GVK && (a.Names == nil) == (b.Names == nil) && slices.Equal(a.Names, b.Names)
}
