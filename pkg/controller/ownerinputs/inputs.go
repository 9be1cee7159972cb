// Package ownerinputs finds which streams one owner of a policy needs, where they are permitted, and
// reads from them what a plan is made from. It sends no request and waits for nothing.
//
// # One layout
//
// A Planner belongs to one policy; PlanInputs lays out the inputs of one Subject: an owner, or what the policy
// itself ensures.
//
//  1. What has to be observed is asked of plan.Queries: for each child the places where its objects are
//     for sure, for each watch what it selects. To these come the places that the last plan wanted.
//  2. A place other than the owner's own is used: which owners use which places, and how many of them
//     they may, is kept by package placeuses, and asked about by placepermissions. A use may be
//     optional: what may not be watched is then left out.
//  3. What is permitted in each place has to be known. PlanInputs says how long to wait if it is not.
//  4. What is permitted becomes interests of package informer, of which those for one kind and place are
//     shared; what is not becomes a problem.
//
// The caller opens the result with Inputs.OpenStreams, before anything else is done with it, and reads it with
// Planner.ReadInputs as often as wanted. It holds until IsCurrent says otherwise.
//
// PlanProbe is for an owner that the policy does not want: it says where to look for children that an
// earlier run may have left, and uses no place for longer than that takes.
//
// # How wide a stream is
//
// Objects are watched where the owner needs them. Children are watched in all namespaces together, where that is
// permitted: those of one owner that are in more than a few namespaces, and those in their owners' own namespaces
// if the owners are in more than a few and everything is permitted in all. spec.informers of the policy
// overrides that.
package ownerinputs

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Inputs are the streams that a plan is made from. They depend on what of the owner its watches are selected
// by and whether it is to be cleaned up after, on the places that its plan wants, on whether the owners of its
// namespace share streams and whether there are owners in many, on what is permitted there, on
// which kinds are known, and on nothing else. They belong to one goroutine.
type Inputs struct {
	// Home is the owner's own place.
	Home PlacePermissions
	// MayNeedRecord: the owner may come to need a record of its children.
	MayNeedRecord bool
	// Crowded says, for users, why not all places are used; empty if all are.
	Crowded string

	uid             types.UID
	cleans          bool
	resourceVersion string // of the owner when it was last compared with selectedBy
	selectedBy      string // see Planner.selectionDigest
	hasFailed       bool   // something of a watch failed, and is tried again with the next version of the owner
	sharesStreams   bool
	isSpread        bool
	complete        bool                        // every kind is known
	queries         []plan.Query                // that they were laid out for
	listed          *ownerscope.Namespaces      // as of the layout; nil unless a watch looks in all namespaces
	selected        *[]string                   // the same, for a scope with a selector
	looksEverywhere bool                        // a watch looks in all namespaces
	elsewhere       map[string]PlacePermissions // other places than the owner's own

	kinds     *foundKinds
	children  []childSource       // sorted by place
	watches   []source            // in the program's order; nil where no plan reads them
	watching  int                 // the first stream that is one of a watch
	interests []informer.Interest // of the streams, those of children first; nil once they are open
	streams   []openStream        // as interests
	listers   []informer.Lister   // as interests
}

// openStream is what is kept of the interest in a stream that is open.
type openStream struct {
	form                               unique.Handle[streamForm]
	namespace, labels, fields, byLabel string
}

// streamForm is what streams of a kind have in common for all owners of a policy, who share it.
type streamForm struct {
	key    informer.Key // without namespace and selectors
	fields *fields.Set
	kind   string
}

func newOpenStream(of informer.Interest) openStream {
	s := openStream{namespace: of.Key.Namespace, labels: of.Key.LabelSelector, fields: of.Key.FieldSelector, byLabel: of.IndexLabel}
	of.Key.Namespace, of.Key.LabelSelector, of.Key.FieldSelector = "", "", ""
	s.form = unique.Make(streamForm{key: of.Key, fields: of.Fields, kind: of.Kind})
	return s
}

// openInterest is the interest that the stream was opened for, without IndexValue and Names.
func (s openStream) openInterest() informer.Interest {
	form := s.form.Value()
	n := informer.Interest{Key: form.key, Fields: form.fields, Kind: form.kind, IndexLabel: s.byLabel}
	n.Key.Namespace, n.Key.LabelSelector, n.Key.FieldSelector = s.namespace, s.labels, s.fields
	return n
}

// foundKinds are the kinds that were looked up. They are not changed, and many owners have the same.
type foundKinds struct {
	resources  map[schema.GroupVersionKind]discovery.Resource // as they were found
	namespaced map[schema.GroupVersionKind]bool               // of those that are known
}

// childSource is where the input of a place comes from.
type childSource struct {
	at plan.Location
	source
}

// NewInputs returns inputs without streams, which are open. home is what is permitted in the owner's own
// place.
func NewInputs(home PlacePermissions) *Inputs {
	return &Inputs{Home: home, complete: true, kinds: &foundKinds{}}
}

// PlacePermissions is what may be done in a place.
type PlacePermissions struct {
	// Answer is the place's: another pointer, other rights.
	Answer *permissionset.Set
	// Own is what of it concerns this owner.
	Own *permissionset.Set
}

// source says where the input of a place or watch comes from: interests, or nowhere for a reason.
type source struct {
	from, to int32 // of the interests
	// wide: the interests show other namespaces as well. For a watch, namespace is then the one that is
	// meant.
	wide bool
	// scoped: of what the interests show only what is not excluded from the scope.
	scoped bool
	// lenient: what may not be watched is left out.
	lenient   bool
	namespace string
	problem   *plan.Problem
}

// Informers is what is used of an informer.Set.
type Informers interface {
	Require(handler informer.EventHandler, interests []informer.Interest) []informer.Lister
	Retry(key informer.Key)
}

// OpenStreams declares the streams for a handler, in place of those that it had. It is called once, before
// ChildStreams, CheckSync and Planner.ReadInputs.
func (s *Inputs) OpenStreams(informers Informers, handler informer.EventHandler) {
	s.listers = informers.Require(handler, s.interests)
	s.streams = make([]openStream, len(s.interests))
	for i, n := range s.interests {
		s.streams[i] = newOpenStream(n)
		if s.listers[i].State() == informer.Forbidden { // it is permitted by now, as far as is known
			informers.Retry(n.Key)
		}
	}
	s.interests = nil
}

// ChildStreams are the streams of children, in a stable order. The interests are without IndexValue and
// Names.
func (s *Inputs) ChildStreams() iter.Seq2[informer.Interest, informer.Lister] {
	return func(yield func(informer.Interest, informer.Lister) bool) {
		for i, stream := range s.streams[:s.watching] {
			if !yield(stream.openInterest(), s.listers[i]) {
				return
			}
		}
	}
}

// PermissionsAt returns what may be done in a namespace that the inputs are about.
func (s *Inputs) PermissionsAt(namespace string) PlacePermissions {
	if found, ok := s.elsewhere[namespace]; ok {
		return found
	}
	return s.Home
}

// StandingProblems are all rights that are missing and concern the owner.
func (s *Inputs) StandingProblems() []plan.Problem {
	list := s.Home.Own.RequiredProblems(nil)
	for _, place := range sortedKeys(s.elsewhere) {
		list = s.elsewhere[place].Own.RequiredProblems(list)
	}
	return list
}

// NamespacedKinds says of each kind that is known whether it lives in namespaces. It is not to be changed.
func (s *Inputs) NamespacedKinds() map[schema.GroupVersionKind]bool { return s.kinds.namespaced }

// IsObserved reports whether a place of a child is looked at, or would be if nothing blocked it.
func (s *Inputs) IsObserved(at plan.Location) bool {
	_, is := s.childAt(at)
	return is
}

// childAt returns where the input of a place comes from, and whether the inputs are about the place.
func (s *Inputs) childAt(at plan.Location) (source, bool) {
	i, found := slices.BinarySearchFunc(s.children, at, func(c childSource, at plan.Location) int { return plan.CompareLocations(c.at, at) })
	if !found {
		return source{}, false
	}
	return s.children[i].source, true
}

// HasLookedUp reports whether a kind was looked up for the inputs.
func (s *Inputs) HasLookedUp(gvk schema.GroupVersionKind) bool {
	_, has := s.kinds.resources[gvk]
	return has
}

// CheckSync reports whether a stream may still deliver its first list soon; and, if none, how long to
// wait because one was refused so short a while ago that a review may not have confirmed it.
func (s *Inputs) CheckSync(now time.Time) (isSyncing bool, doubtful time.Duration) {
	for _, lister := range s.listers {
		switch status := lister.Status(); {
		case status.Synced:
		case !status.State.IsFinal():
			return true, 0
		case status.State == informer.Forbidden:
			doubtful = max(doubtful, placepermissions.ConfirmGrace-now.Sub(status.Since))
		}
	}
	return false, doubtful
}

// IsCurrent reports whether inputs that were laid out before are those of a subject now. Nil: there are none.
func (p *Planner) IsCurrent(s *Inputs, subject Subject) bool {
	if s == nil || !s.complete || s.cleans != subject.isCleanedUp() || p.Permissions.UsesIndex().IsCrowded(subject.Name) || s.sharesStreams != subject.SharesStreams || s.isSpread != subject.IsSpread || s.Home.Answer != subject.Home {
		return false
	}
	if subject.Owner != nil && !p.isSelectionCurrent(s, subject.Owner) {
		return false
	}
	if s.looksEverywhere && (s.listed != p.Namespaces.FollowedList() || s.selected != p.Scope.SelectedNames()) {
		return false
	}
	for gvk, as := range s.kinds.resources {
		if found, ok, _ := p.Kinds.LookupKind(gvk); !ok || found != as {
			return false
		}
	}
	for place, known := range s.elsewhere {
		if answer, wait := p.Permissions.ForUse(place); wait > 0 || answer != known.Answer {
			return false
		}
	}
	return SameQueries(s.queries, subject.Queries)
}

// isSelectionCurrent reports whether an owner's watches still select what they did. It compares each version of an
// owner once.
func (p *Planner) isSelectionCurrent(s *Inputs, owner *unstructured.Unstructured) bool {
	version := owner.GetResourceVersion()
	switch {
	case s.uid != owner.GetUID():
		return false
	case s.resourceVersion == version:
		return true
	case s.hasFailed || s.selectedBy != p.selectionDigest(owner):
		return false
	}
	s.resourceVersion = version
	return true
}

// selectionDigest is equal for equal values of what the owner's watches are selected by; empty if that is its
// identity alone.
func (p *Planner) selectionDigest(owner *unstructured.Unstructured) string {
	read := p.Program.Owner.SelectionRead
	if read == nil {
		return ""
	}
	values, _ := json.Marshal(read.ProjectObject(owner.Object)) // JSON-like by construction
	sum := sha256.Sum256(values)
	return string(sum[:])
}

// SameQueries reports whether two plans want the same places.
func SameQueries(a, b []plan.Query) bool {
	return slices.EqualFunc(a, b, func(a, b plan.Query) bool {
		return a.Location == b.Location && a.GVK == b.GVK && (a.Names == nil) == (b.Names == nil) && slices.Equal(a.Names, b.Names)
	})
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
