package policysource

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// everywhere is the namespace that stands for all.
const everywhere = ""

// shelf follows the objects of one kind in which policies stand: cluster-wide where that
// is permitted, else in each namespace where it is. follow and snapshot belong to the
// goroutine of decisions; all other methods are safe for concurrent use.
type shelf struct {
	kind kindOfObject
	o    Options
	wake func()

	// Of the goroutine of decisions.
	asked    map[string]bool // the places that are asked about
	views    map[string]informer.Lister
	retried  map[string]uint64 // by namespace: as of which rights a refused stream was tried again
	refused  map[string]uint64 // by namespace: the epoch of the stream whose refusal was told
	texts    map[*unstructured.Unstructured][]text
	empty    map[types.UID]bool // it was said that there is no policy in the object
	problem  string
	reach    string // where is read, if that is not everywhere; as it was logged last
	isPicked bool   // it is known where to read

	mu      sync.Mutex // guards what is below
	objects map[Origin]*unstructured.Unstructured
	cannot  map[types.UID]uint64 // by object: as of which rights a write of it was refused
}

// kindOfObject says what a shelf reads, and how.
type kindOfObject struct {
	kind     Kind
	resource schema.GroupVersionResource
	name     string // for people
	selector string
	kept     *fields.Set
	// texts makes texts of an object, without what depends on rights.
	texts func(*unstructured.Unstructured) []text
	// finalized: objects carry a finalizer while they are run. subresource is where
	// their status is written; empty: on the object itself.
	finalized   bool
	subresource string
}

func newShelf(kind kindOfObject, o Options, wake func()) *shelf {
	return &shelf{
		kind: kind, o: o, wake: wake,
		asked: map[string]bool{}, views: map[string]informer.Lister{}, retried: map[string]uint64{}, refused: map[string]uint64{},
		texts: map[*unstructured.Unstructured][]text{}, empty: map[types.UID]bool{}, objects: map[Origin]*unstructured.Unstructured{}, cannot: map[types.UID]uint64{},
	}
}

var (
	_ informer.EventHandler = (*shelf)(nil)
	_ access.ChangeHandler  = shelfRights{}
)

// Changed implements informer.EventHandler.
func (s *shelf) Changed(informer.Event) { s.wake() }

// shelfRights is a shelf as a subscriber of rights.
type shelfRights struct{ *shelf }

// Changed implements access.ChangeHandler.
func (s shelfRights) Changed(access.Key) { s.wake() }

// reading are the accesses that it takes to follow objects, writing those to write on
// them.
func (k kindOfObject) reading() []access.Access {
	return []access.Access{k.access("list", ""), k.access("watch", "")}
}

func (k kindOfObject) writing() []access.Access {
	list := []access.Access{k.access("patch", "")}
	if k.subresource != "" {
		list = append(list, k.access("patch", k.subresource))
	}
	return list
}

func (k kindOfObject) access(verb, subresource string) access.Access {
	return access.Access{Verb: verb, Group: k.resource.Group, Resource: k.resource.Resource, Subresource: subresource}
}

// follow finds out where objects can be read now, and reads there. It makes no request.
func (s *shelf) follow() {
	s.ask(everywhere)
	where, decided := s.readable(everywhere), s.answered(everywhere)
	var places []string
	if where {
		places = []string{everywhere}
	} else if decided {
		for _, namespace := range s.candidates() {
			s.ask(namespace)
			decided = decided && s.answered(namespace)
			if s.readable(namespace) {
				places = append(places, namespace)
			}
		}
	}
	s.isPicked = decided
	s.problem = ""
	if decided && len(places) == 0 {
		s.problem = fmt.Sprintf("cannot list, watch %s in any namespace, nor in %q", s.kind.resource.GroupResource(), s.candidates())
	}
	s.noteReach(places)
	s.open(places)
	s.askWhereWritten(places)
	s.insist()
}

// noteReach keeps, and logs when it changes, that objects in other namespaces than these
// are not read.
func (s *shelf) noteReach(places []string) {
	if !s.isPicked {
		return // as before, until more is known
	}
	before := s.reach
	if s.reach = ""; len(places) > 0 && places[0] != everywhere {
		s.reach = fmt.Sprintf("policies in %s are read in %s only: to read more it takes list, watch on %s cluster-wide, or in namespaces that --namespaces names",
			s.kind.name, namespacesText(places), s.kind.resource.GroupResource())
	}
	switch {
	case s.reach == before:
	case s.reach != "":
		s.o.Logger.Info(s.reach)
	case len(places) > 0:
		s.o.Logger.Info("policies in " + s.kind.name + " are read in all namespaces")
	}
}

// mostPlaces is how many namespaces a message names.
const mostPlaces = 10

func namespacesText(places []string) string {
	if more := len(places) - mostPlaces; more > 0 {
		return fmt.Sprintf("namespaces %q and %d more", places[:mostPlaces], more)
	}
	if len(places) == 1 {
		return fmt.Sprintf("namespace %q", places[0])
	}
	return fmt.Sprintf("namespaces %q", places)
}

// candidates are the namespaces to read in if all cannot be.
func (s *shelf) candidates() []string {
	list := append([]string{s.o.Namespace}, s.o.Namespaces...)
	slices.Sort(list)
	return slices.Compact(list)
}

// ask keeps an eye on what may be done in a namespace.
func (s *shelf) ask(namespace string) {
	if !s.asked[namespace] {
		s.asked[namespace] = true
		s.o.Access.Require(shelfRights{s}, access.Key{Namespace: namespace}, append(s.kind.reading(), s.kind.writing()...), access.Payer{})
	}
}

func (s *shelf) answered(namespace string) bool {
	state := s.o.Access.State(access.Key{Namespace: namespace})
	return state.Reviewed || state.Refusal != nil
}

func (s *shelf) readable(namespace string) bool {
	for _, a := range s.kind.reading() {
		if s.o.Access.Decide(access.Key{Namespace: namespace}, a) != access.Allowed {
			return false
		}
	}
	return true
}

// open has exactly the streams of these places open.
func (s *shelf) open(places []string) {
	needs := make([]informer.Interest, len(places))
	for i, namespace := range places {
		needs[i] = informer.Interest{Key: s.key(namespace), Fields: s.kind.kept}
	}
	views := s.o.Informers.Require(s, needs)
	clear(s.views)
	for i, namespace := range places {
		s.views[namespace] = views[i]
	}
}

func (s *shelf) key(namespace string) informer.Key {
	return informer.Key{GVR: s.kind.resource, Namespace: namespace, LabelSelector: s.kind.selector, Form: informer.Form{Fields: s.kind.kept.String()}}
}

// askWhereWritten asks about the namespaces that have objects where not all may be
// written, and about nothing that is of no use any more.
func (s *shelf) askWhereWritten(places []string) {
	wanted := map[string]bool{everywhere: true}
	if !slices.Contains(places, everywhere) {
		for _, namespace := range s.candidates() {
			wanted[namespace] = true
		}
	} else if !s.allowed(everywhere, s.kind.writing()...) {
		for _, object := range s.views[everywhere].List() {
			wanted[object.GetNamespace()] = true
		}
	}
	for namespace := range wanted {
		s.ask(namespace)
	}
	for namespace := range s.asked {
		if !wanted[namespace] {
			delete(s.asked, namespace)
			s.o.Access.Require(shelfRights{s}, access.Key{Namespace: namespace}, nil, access.Payer{})
		}
	}
}

func (s *shelf) allowed(namespace string, all ...access.Access) bool {
	for _, a := range all {
		if s.o.Access.Decide(access.Key{Namespace: namespace}, a) != access.Allowed {
			return false
		}
	}
	return true
}

// insist says of streams that were refused that they were, and tries them again when
// what is known of rights has changed since.
func (s *shelf) insist() {
	for namespace, view := range s.views {
		status := view.Status()
		if status.State != informer.Forbidden && status.State != informer.Unauthenticated {
			continue
		}
		at := access.Key{Namespace: namespace}
		if s.refused[namespace] != status.Epoch {
			s.refused[namespace] = status.Epoch
			s.o.Access.ReportDenied(at, s.kind.reading()[0])
		}
		if generation := s.o.Access.State(at).Generation; s.retried[namespace] != generation {
			s.retried[namespace] = generation
			s.o.Informers.Retry(s.key(namespace))
		}
	}
}

// release gives back all streams and reviews.
func (s *shelf) release() {
	s.o.Informers.Require(s, nil)
	for namespace := range s.asked {
		s.o.Access.Require(shelfRights{s}, access.Key{Namespace: namespace}, nil, access.Payer{})
	}
}
