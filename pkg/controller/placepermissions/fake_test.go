package placepermissions

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

var (
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	configMaps  = schema.GroupResource{Resource: "configmaps"}
	secrets     = schema.GroupResource{Resource: "secrets"}
	pods        = schema.GroupResource{Resource: "pods"}
	caches      = schema.GroupResource{Group: "example.com", Resource: "caches"}
)

func accessTo(verb, subresource string, resource schema.GroupResource) access.Access {
	return access.Access{Verb: verb, Group: resource.Group, Resource: resource.Resource, Subresource: subresource}
}

// fakeReviewer answers as a test says; what is not said is unknown. Safe for concurrent use.
type fakeReviewer struct {
	mu       sync.Mutex
	states   map[access.Key]access.State
	denied   map[access.Key][]access.Access
	required map[access.Key][]access.Access
	payers   map[access.Key]access.Payer
	handlers map[access.Key]access.ChangeHandler
	requires int
	reported []access.Key
	asked    func() // what happens before State or DecideAll answers; may be nil
}

func (f *fakeReviewer) Require(handler access.ChangeHandler, at access.Key, accesses []access.Access, payer access.Payer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requires++
	delete(f.required, at)
	if len(accesses) > 0 {
		f.required[at], f.handlers[at], f.payers[at] = accesses, handler, payer
	}
}

func (f *fakeReviewer) DecideAll(at access.Key, accesses []access.Access) (access.Decision, []access.Access, access.State) {
	if f.asked != nil {
		f.asked()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.states[at]
	if !state.Reviewed || state.Refusal != nil {
		return access.Unknown, nil, state
	}
	denied := slices.DeleteFunc(slices.Clone(accesses), func(a access.Access) bool { return !slices.Contains(f.denied[at], a) })
	if len(denied) > 0 {
		return access.Denied, denied, state
	}
	return access.Allowed, nil, state
}

func (f *fakeReviewer) State(at access.Key) access.State {
	if f.asked != nil {
		f.asked()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states[at]
}

func (f *fakeReviewer) ReportDenied(at access.Key, _ access.Access) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reported = append(f.reported, at)
}

// bench is a Tracker of a policy on a fakeReviewer.
type bench struct {
	*Tracker
	reviewer *fakeReviewer
	now      time.Time
	scopes   map[string]Scope // what ScopeOf says
	served   map[string]bool
	changes  []Change
	logged   []string
}

func (b *bench) key(place string) access.Key { return access.Key{Identity: "bot", Namespace: place} }

// answer has a place reviewed: some accesses are denied, all others are permitted. The tracker is told.
func (b *bench) answer(place string, denied ...access.Access) {
	b.refuse(place, nil, denied...)
}

// refuse is answer; an error refuses the review.
func (b *bench) refuse(place string, refusal error, denied ...access.Access) {
	at := b.key(place)
	b.reviewer.mu.Lock()
	before := b.reviewer.states[at]
	b.reviewer.states[at] = access.State{Reviewed: true, Generation: before.Generation + 1, Refusal: refusal}
	b.reviewer.denied[at] = denied
	handler := b.reviewer.handlers[at]
	b.reviewer.mu.Unlock()
	if handler != nil {
		handler.Changed(at)
	}
}

// takeChanges returns what has changed since it was last called.
func (b *bench) takeChanges() []Change {
	list := b.changes
	b.changes = nil
	return list
}

// needsOf are those of a policy with a child in the owner's namespace, one elsewhere, and a watch.
func needsOf() []Need {
	return []Need{
		{Need: policy.Need{Parts: []string{policy.OwnerPart, "web"}, Verbs: []string{"get", "list", "watch", "create"}}, Resource: caches},
		{Need: policy.Need{Parts: []string{policy.OwnerPart}, Subresource: "status", Verbs: []string{"patch"}}, Resource: caches},
		{Need: policy.Need{Parts: []string{"pods"}, Verbs: []string{"list", "watch"}}, Resource: pods},
		{Need: policy.Need{Parts: []string{"copy"}, Verbs: []string{"create", "list"}}, Resource: deployments, Elsewhere: true},
	}
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{now: time.Unix(1000, 0), scopes: map[string]Scope{}, served: map[string]bool{}}
	b.reviewer = &fakeReviewer{
		states: map[access.Key]access.State{}, denied: map[access.Key][]access.Access{}, required: map[access.Key][]access.Access{},
		payers: map[access.Key]access.Payer{}, handlers: map[access.Key]access.ChangeHandler{},
	}
	o := Options{
		Policy: "team/cache", Identity: "bot", User: "bot", Reviewer: b.reviewer,
		Needs: func() ([]Need, bool) { return needsOf(), true },
		ResourceOf: func(gvk schema.GroupVersionKind) (schema.GroupResource, bool) {
			return configMaps, gvk.Kind == "ConfigMap"
		},
		IsClusterScoped: func() bool { return false },
		ScopeOf:         func(namespace string) Scope { return b.scopes[namespace] },
		IsServed:        func(namespace string) bool { return b.served[namespace] },
		IsReplaced:      func() bool { return false },
		Refused:         func(err error) *plan.Problem { return &plan.Problem{Reason: "Refused", Message: err.Error()} },
		Changed:         func(c Change) { b.changes = append(b.changes, c) },
		Now:             func() time.Time { return b.now },
		Logger:          funcr.New(func(_, args string) { b.logged = append(b.logged, args) }, funcr.Options{}),
	}
	for _, f := range change {
		f(&o)
	}
	b.Tracker = New(o)
	return b
}
