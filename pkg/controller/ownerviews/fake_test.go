package ownerviews

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ownerAt is an owner whose uid is its name.
func ownerAt(namespace, name string) *unstructured.Unstructured {
	owner := &unstructured.Unstructured{}
	owner.SetNamespace(namespace)
	owner.SetName(name)
	return owner
}

// eventOf is an event of one owner in the stream of a namespace.
func eventOf(stream string, kind informer.EventType, namespace, name string) informer.Event {
	return informer.Event{Key: informer.Key{Namespace: stream}, Type: kind, Object: ownerAt(namespace, name)}
}

// fakeView is a stream that shows what a test says. Safe for concurrent use.
type fakeView struct {
	mu     sync.Mutex
	status informer.Status
	owners []*unstructured.Unstructured
	// gone: the stream loses its objects and its status with the next Get.
	gone bool
	// onRead is called when the stream has been read; nil: nothing is.
	onRead func()
}

// synced is a stream that has its first list.
func synced(owners ...*unstructured.Unstructured) *fakeView {
	return &fakeView{status: informer.Status{Synced: true, Epoch: 1}, owners: owners}
}

func (f *fakeView) Read() ([]*unstructured.Unstructured, informer.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.onRead != nil {
		f.onRead()
	}
	return slices.Clone(f.owners), f.status
}

func (f *fakeView) Status() informer.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fakeView) Get(namespace, name string) *unstructured.Unstructured {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		f.owners, f.status = nil, informer.Status{State: informer.Forbidden}
	}
	for _, owner := range f.owners {
		if owner.GetNamespace() == namespace && owner.GetName() == name {
			return owner
		}
	}
	return nil
}

func (f *fakeView) addOwner(owner *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owners = append(f.owners, owner)
}

// wantsAll wants every owner.
func wantsAll(*unstructured.Unstructured) bool { return true }

var things = schema.GroupResource{Group: "example.com", Resource: "things"}

// fakePermissions answers as a test says, and writes down what it is asked.
type fakePermissions struct {
	answers map[string]*permissionset.Set // by place; of others nothing was asked
	pending map[string]bool
	narrow  bool
	calls   []string
}

func (f *fakePermissions) RequireScope(place string, scope placepermissions.Scope) {
	f.calls = append(f.calls, fmt.Sprintf("require %q %d", place, scope))
}

func (f *fakePermissions) SetScope(place string, scope placepermissions.Scope) {
	f.calls = append(f.calls, fmt.Sprintf("set %q %d", place, scope))
}

func (f *fakePermissions) ReleaseUnsought() { f.calls = append(f.calls, "release unsought") }

func (f *fakePermissions) CurrentAt(place string) (*permissionset.Set, bool) {
	r, ok := f.answers[place]
	if !ok {
		return &permissionset.Set{}, false
	}
	return r, true
}

func (f *fakePermissions) PendingFor(place string, _ *permissionset.Set) time.Duration {
	if f.pending[place] {
		return time.Second
	}
	return 0
}

func (f *fakePermissions) IsKnownNarrow() bool { return f.narrow }

// allowed is the answer that everything is permitted.
func allowed() *permissionset.Set { return &permissionset.Set{Reviewed: true} }

// denied is the answer that things may not be watched in a place.
func denied(place string) *permissionset.Set {
	r := &permissionset.Set{Reviewed: true}
	m := permissionset.Missing{Resource: things, Verbs: []string{"list", "watch"}}
	r.AddMissing(permissionset.Place{Namespace: place, User: "ambit"}, m, m.Verbs, false)
	return r
}

// refused is the answer that nothing can be done as the identity.
func refused() *permissionset.Set {
	return &permissionset.Set{Reviewed: true, Refusal: &plan.Problem{Reason: v1alpha1.ReasonUnauthenticated, Message: "who are you?"}}
}

// fakeNamespaceWatch is a watch of namespaces that answers as a test says.
type fakeNamespaceWatch struct {
	permission permitted.Permission
	status     informer.Status
	names      []string // "name" or "name team=a"
	calls      []string
}

func (f *fakeNamespaceWatch) Require() permitted.Permission {
	f.calls = append(f.calls, "require")
	return f.permission
}

func (f *fakeNamespaceWatch) Permission() permitted.Permission { return f.permission }

func (f *fakeNamespaceWatch) ReadObjects() ([]*unstructured.Unstructured, informer.Status) {
	var list []*unstructured.Unstructured
	for _, text := range f.names {
		name, label, ok := strings.Cut(text, " ")
		namespace := ownerAt("", name)
		if key, value, _ := strings.Cut(label, "="); ok {
			namespace.SetLabels(map[string]string{key: value})
		}
		list = append(list, namespace)
	}
	return list, f.status
}

func (f *fakeNamespaceWatch) Release() { f.calls = append(f.calls, "release") }

// takeCalls returns the calls since the last time.
func (f *fakeNamespaceWatch) takeCalls() string {
	calls := strings.Join(f.calls, ", ")
	f.calls = nil
	return calls
}
