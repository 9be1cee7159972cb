package permitted

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	roles      = schema.GroupVersionResource{Group: "rbac", Version: "v1", Resource: "roles"}
	errRefused = errors.New("refused")
)

// fakeReviews answers as a test says: what is not said is unknown.
type fakeReviews struct {
	states    map[access.Key]access.State
	decisions map[access.Key]map[access.Access]access.Decision
	required  map[access.Key][]access.Access
	payers    map[access.Key]access.Payer
	handlers  map[access.Key]access.ChangeHandler
	reported  []access.Access
}

func (f *fakeReviews) Require(handler access.ChangeHandler, at access.Key, accesses []access.Access, payer access.Payer) {
	delete(f.required, at)
	if len(accesses) > 0 {
		f.required[at], f.handlers[at], f.payers[at] = accesses, handler, payer
	}
}

func (f *fakeReviews) DecideAll(at access.Key, accesses []access.Access) (access.Decision, []access.Access, access.State) {
	state := f.states[at]
	if state.Refusal != nil {
		return access.Unknown, nil, state
	}
	decision := access.Allowed
	var denied []access.Access
	for _, a := range accesses {
		switch f.decisions[at][a] {
		case access.Denied:
			denied = append(denied, a)
		case access.Unknown:
			decision = access.Unknown
		}
	}
	if len(denied) > 0 {
		decision = access.Denied
	}
	return decision, denied, state
}

func (f *fakeReviews) ReportDenied(_ access.Key, a access.Access) { f.reported = append(f.reported, a) }

// answer has a namespace reviewed: the verbs of secrets are allowed or denied, as said.
func (f *fakeReviews) answer(namespace string, verbs map[string]access.Decision) {
	at := access.Key{Namespace: namespace}
	state := f.states[at]
	f.states[at] = access.State{Reviewed: true, Generation: state.Generation + 1}
	f.decisions[at] = map[access.Access]access.Decision{}
	for verb, decision := range verbs {
		f.decisions[at][access.Access{Verb: verb, Resource: "secrets"}] = decision
	}
}

// fakeInformers opens nothing.
type fakeInformers struct {
	open     map[informer.EventHandler][]informer.Interest
	statuses map[informer.Key]informer.Status
	objects  map[informer.Key][]*unstructured.Unstructured
	retried  []informer.Key
	observed []informer.Key
}

func (f *fakeInformers) Require(handler informer.EventHandler, interests []informer.Interest) (listers []lister) {
	delete(f.open, handler)
	for _, interest := range interests {
		f.open[handler] = append(f.open[handler], interest)
		listers = append(listers, fakeLister{f, interest.Key})
	}
	return listers
}

func (f *fakeInformers) Retry(key informer.Key) { f.retried = append(f.retried, key) }

func (f *fakeInformers) Observe(key informer.Key, _ *unstructured.Unstructured, _ ...informer.EventHandler) {
	f.observed = append(f.observed, key)
}

// namespaces returns where informers are open, sorted.
func (f *fakeInformers) namespaces() (list []string) {
	for _, interests := range f.open {
		for _, interest := range interests {
			list = append(list, interest.Key.Namespace)
		}
	}
	slices.Sort(list)
	return list
}

type fakeLister struct {
	of  *fakeInformers
	key informer.Key
}

func (l fakeLister) Status() informer.Status { return l.of.statuses[l.key] }

func (l fakeLister) Read() ([]*unstructured.Unstructured, informer.Status) {
	return l.of.objects[l.key], l.Status()
}

// bench is Informers on fakes.
type bench struct {
	*Informers
	reviews *fakeReviews
	set     *fakeInformers
	events  []Event
}

func newBench() *bench {
	b := &bench{
		reviews: &fakeReviews{
			states: map[access.Key]access.State{}, decisions: map[access.Key]map[access.Access]access.Decision{},
			required: map[access.Key][]access.Access{}, payers: map[access.Key]access.Payer{}, handlers: map[access.Key]access.ChangeHandler{},
		},
		set: &fakeInformers{
			open: map[informer.EventHandler][]informer.Interest{}, statuses: map[informer.Key]informer.Status{},
			objects: map[informer.Key][]*unstructured.Unstructured{},
		},
	}
	b.Informers = &Informers{informers: b.set, reviews: b.reviews}
	return b
}

func (b *bench) record(event Event) { b.events = append(b.events, event) }

var (
	allowed = map[string]access.Decision{"list": access.Allowed, "watch": access.Allowed}
	denied  = map[string]access.Decision{"list": access.Allowed, "watch": access.Denied}
)
