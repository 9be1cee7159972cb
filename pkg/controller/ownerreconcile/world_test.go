package ownerreconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/controller/recordcheck"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/policytext"
	"github.com/ambit-dev/ambit/test/sim"
)

var (
	owners     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "owners"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

const ownerDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: owners.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: owners, singular: owner, kind: Owner, listKind: OwnerList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// world runs reconciles of the owner home/x against a simulated server, in virtual time. Whether a write is
// permitted in advance is said by denied; what the server answers, by refuse and lose.
type world struct {
	*testing.T
	admin   dynamic.Interface
	options *Options
	state   *State
	set     *informer.Set
	// seen is the owner as the stream of owners shows it; nil: as it is.
	seen *unstructured.Unstructured
	// retire: the policy does not want the owner.
	retire bool

	mu       sync.Mutex                        // guards what is below
	denied   []string                          // "verb resource namespace" that a review denies
	reported []string                          // the same, that was reported to be refused
	writes   []string                          // writes by Ambit, as in "create configmaps home/child"
	refuse   func(request string, n int) error // the answer to the n-th such request, in place of it; nil: it is carried out
	lose     func(request string) error        // the answer to a request that was carried out
	asked    map[string]int                    // how often each was sent
}

// testWorld runs a test in virtual time, with a policy of which the spec is given but for the owner.
func testWorld(t *testing.T, spec string, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, stop := newWorld(t, spec)
		test(w)
		stop()
	})
}

func newWorld(t *testing.T, spec string) (w *world, stop func()) {
	w = &world{T: t, asked: map[string]int{}}
	server := sim.New(sim.Options{Seed: 1, Faults: w})
	w.admin = server.As(sim.Admin).Dynamic()
	client := server.As(sim.Admin).Named("ambit")
	w.create(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, "", ownerDefinition)
	for _, name := range []string{"home", "there"} {
		w.create(namespaces, "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
	}
	w.create(owners, "home", "{apiVersion: example.com/v1, kind: Owner, metadata: {name: x}, spec: {mark: one}}")
	w.set = informer.NewSet(informer.Options{Clients: func(string) (dynamic.Interface, metadata.Interface, error) {
		return client.Dynamic(), client.Metadata(), nil
	}})
	program := compileWorld(t, spec)
	cache := discovery.New(discovery.Options{Served: func(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
		answer := map[schema.GroupKind]discovery.ServedKind{}
		for _, kind := range kinds {
			mappings, err := client.Served(ctx, kind)
			answer[kind] = discovery.ServedKind{Mappings: mappings, Err: err}
		}
		return answer, nil
	}})
	kinds := policykinds.New(program, cache, func([]schema.GroupVersionKind) {})
	kinds.HaveLookedUp()
	cache.PollRound(t.Context())
	w.options = newWorldOptions(w, program, kinds, client.Dynamic())
	state := NewState(types.NamespacedName{Namespace: "home", Name: "x"}, &ignorer{})
	w.state = &state
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.set.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	return w, func() {
		cancel()
		running.Wait()
	}
}

func compileWorld(t *testing.T, spec string) *policy.Program {
	t.Helper()
	return policytext.Compile(t, "policy.yaml", "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: a, namespace: ambit-system}\nspec:\n  owner: {apiVersion: example.com/v1, kind: Owner}\n"+spec)
}

func newWorldOptions(w *world, program *policy.Program, kinds *policykinds.Kinds, client dynamic.Interface) *Options {
	permissions := placepermissions.New(placepermissions.Options{
		Policy: "a", User: "bot", Reviewer: w,
		Needs: func() ([]placepermissions.Need, bool) { return kinds.ResourceNeeds(false) }, ResourceOf: kinds.ResourceOf,
		IsClusterScoped: func() bool { return false }, IsServed: func(string) bool { return false }, IsReplaced: func() bool { return false },
		ScopeOf: func(namespace string) placepermissions.Scope {
			if namespace == "home" {
				return placepermissions.AtHome
			}
			return placepermissions.AsUsed
		},
		Refused: func(error) *plan.Problem { return nil }, Changed: func(placepermissions.Change) {}, Now: time.Now,
	})
	inputs := ownerinputs.New(ownerinputs.Options{
		Program: program, Manager: "ambit/ambit-system.a", User: "bot", Kinds: kinds, Permissions: permissions,
		Scope: ownerscope.New(program, nil), Namespaces: noNamespaces{},
		NowhereProblem:  func(denied *plan.Problem) *plan.Problem { return denied },
		IsClusterScoped: func() bool { return false },
		IsGone:          func(schema.GroupVersionResource, time.Time) bool { return true },
		Enqueue:         func(types.NamespacedName) {},
	})
	return &Options{
		Program: program, Manager: inputs.Manager, User: "bot", Client: func() (dynamic.Interface, error) { return client, nil },
		Informers: w.set, Owners: &ignorer{}, Kinds: kinds, Inputs: inputs, Permissions: permissions,
		LostWrites: &recordcheck.LostWrites{}, Turns: &fairqueue.Throttle{}, MayMakeEvents: func(string) bool { return true },
		OwnerKey: func(kind discovery.Resource, namespace string) informer.Key {
			return informer.Key{GVR: kind.GVR, Namespace: namespace}
		},
		OwnerExists:   func(uid types.UID) bool { return uid == w.owner().GetUID() },
		SharesStreams: func(string) bool { return false }, IsSpread: func() bool { return false }, IsRetired: func(string) bool { return false },
		RecordEvaluation: func(types.NamespacedName, time.Time) {},
		Backoff:          testBackoff, Now: time.Now, Random: func() string { return "0123456789abcdef0123456789abcdef" },
	}
}

type noNamespaces struct{}

func (noNamespaces) FollowedList() *ownerscope.Namespaces { return nil }
func (noNamespaces) IsDenied() bool                       { return false }

// ignorer needs streams, and does nothing when they change.
type ignorer struct{ _ int }

// Changed implements informer.EventHandler.
func (*ignorer) Changed(informer.Event) {}

// run is what a reconcile came to.
type run struct {
	*Reconciler
	planned *plan.Plan // nil: to no plan
	again   time.Duration
	writes  []string
}

// reconcile runs once over the owner, as doc.go says, when its streams have delivered their first lists.
func (w *world) reconcile() run {
	w.Helper()
	owner := w.seen
	if owner == nil {
		owner = w.owner()
	}
	home, _ := w.options.Permissions.ForOwners("home")
	for range 100 {
		p := New(w.options, owner, w.state, w.retire, telemetry.New(nil, nil, time.Now).WritesOnly("a"))
		planned, wait, err := p.PlanAndWrite(w.Context(), home)
		if err != nil {
			w.Fatal(err)
		}
		if wait > 0 {
			time.Sleep(min(wait, 50*time.Millisecond))
			continue
		}
		r := run{Reconciler: p, planned: planned}
		if !p.IsRefusalUnconfirmed() {
			p.RecordPlan(w.Context(), planned)
			if !p.IsReleased() {
				if err := p.ReportStatus(w.Context(), planned); err != nil {
					w.Fatal(err)
				}
			}
			r.again = p.RequeueAfter(planned)
		}
		synctest.Wait()
		time.Sleep(10 * time.Millisecond) // the streams show what was written
		r.writes = w.takeWrites()
		return r
	}
	w.Fatal("its streams never deliver")
	return run{}
}

func (w *world) takeWrites() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.writes
	w.writes = nil
	return writes
}

// Before implements sim.Faults.
func (w *world) Before(_ context.Context, r sim.Request) error {
	if r.Process != "ambit" || slices.Contains([]string{"list", "watch", "discover"}, r.Verb) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	text := requestText(r)
	if r.Verb != "get" {
		w.writes = append(w.writes, text)
	}
	w.asked[text]++
	if w.refuse == nil {
		return nil
	}
	return w.refuse(text, w.asked[text])
}

// After implements sim.Faults.
func (w *world) After(_ context.Context, r sim.Request, answer error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Process != "ambit" || w.lose == nil || answer != nil {
		return answer
	}
	return w.lose(requestText(r))
}

// Stream implements sim.Faults.
func (*world) Stream(sim.Request) sim.Stream { return nil }

// requestText is as in "patch owners/status home/x".
func requestText(r sim.Request) string {
	resource := r.Resource.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s", r.Verb, resource, r.Namespace, r.Name)
}

// Require implements placepermissions.Reviewer.
func (*world) Require(access.ChangeHandler, access.Key, []access.Access, access.Payer) {}

// ReportDenied implements placepermissions.Reviewer.
func (w *world) ReportDenied(at access.Key, a access.Access) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reported = append(w.reported, strings.TrimSpace(a.Verb+" "+a.Resource+" "+at.Namespace))
}

// State implements placepermissions.Reviewer.
func (*world) State(access.Key) access.State { return access.State{Reviewed: true} }

// DecideAll implements placepermissions.Reviewer: what is denied in a namespace is denied in all together.
func (w *world) DecideAll(at access.Key, accesses []access.Access) (access.Decision, []access.Access, access.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	denied := slices.DeleteFunc(slices.Clone(accesses), func(a access.Access) bool {
		return !slices.ContainsFunc(w.denied, func(denied string) bool {
			return denied == strings.TrimSpace(a.Verb+" "+a.Resource+" "+at.Namespace) || at.Namespace == "" && strings.HasPrefix(denied, a.Verb+" "+a.Resource+" ")
		})
	})
	if len(denied) > 0 {
		return access.Denied, denied, w.State(at)
	}
	return access.Allowed, nil, w.State(at)
}

func (w *world) create(gvr schema.GroupVersionResource, namespace, text string) {
	w.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		w.Fatal(err)
	}
	if _, err := w.admin.Resource(gvr).Namespace(namespace).Create(w.Context(), obj, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// patch is what a user changes.
func (w *world) patch(gvr schema.GroupVersionResource, namespace, name, patch string, subresources ...string) {
	w.Helper()
	if _, err := w.admin.Resource(gvr).Namespace(namespace).Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		w.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond) // the streams show it
}

func (w *world) delete(gvr schema.GroupVersionResource, namespace, name string) {
	w.Helper()
	if err := w.admin.Resource(gvr).Namespace(namespace).Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
}

// get returns an object; nil: there is none.
func (w *world) get(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	w.Helper()
	obj, err := w.admin.Resource(gvr).Namespace(namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return obj
}

// owner is the owner as it is; without a uid it is gone.
func (w *world) owner() *unstructured.Unstructured {
	if owner := w.get(owners, "home", "x"); owner != nil {
		return owner
	}
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// condition is as in "False Forbidden: ..."; empty: the owner has none of the type.
func (w *world) condition(kind string) string {
	conditions, _, _ := unstructured.NestedSlice(w.owner().Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return fmt.Sprintf("%s %s: %s", c["status"], c["reason"], c["message"])
		}
	}
	return ""
}

// answering refuses a request with an error; other requests are carried out.
func answering(request string, err error) func(string, int) error {
	return func(asked string, _ int) error {
		if asked == request {
			return err
		}
		return nil
	}
}

// setRefuse has requests refused from here on; nil: none.
func (w *world) setRefuse(refuse func(request string, n int) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}
