package clusterwatch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/test/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ambitUser = "ambit"

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

var (
	roles        = resource("rbac.authorization.k8s.io", "v1", "roles")
	clusterRoles = resource("rbac.authorization.k8s.io", "v1", "clusterroles")
	bindings     = resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
	definitions  = resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
	things       = resource("example.com", "v1", "things")
)

// bench has the inputs of a watcher on a simulated server, in virtual time, and records what the watcher
// tells the rest of Ambit.
type bench struct {
	*testing.T
	server  *sim.Server
	admin   dynamic.Interface
	options Options
	stop    func() // ends all that was started, and waits
	spawn   func(run func(context.Context))

	// outage: the API server answers no request of Ambit.
	outage  atomic.Bool
	reviews atomic.Int64 // by Ambit

	mu    sync.Mutex // guards what is below
	calls []string   // of Access and Informers
	kinds fakeKinds
	lines []string // of the log
}

// testWatcher runs a test in virtual time, and sees that nothing is watched at its end.
func testWatcher(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		test(b)
		b.stop()
		if open := b.server.Watches(); len(open) > 0 {
			t.Errorf("watches are open at the end: %v", open)
		}
	})
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t}
	b.server = sim.New(sim.Options{Seed: 1, Faults: b})
	b.admin = b.server.As(sim.Admin).Dynamic()
	client := b.server.As(ambitUser)
	set := informer.NewSet(informer.Options{
		Clients: func(string) (dynamic.Interface, metadata.Interface, error) {
			return client.Dynamic(), client.Metadata(), nil
		},
		Retry: informer.Exponential(4*time.Second, 30*time.Second, nil),
	})
	reviewer := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return client.Reviews(), nil }})
	b.options = Options{
		Access: recordedAccess{reviewer, b}, Informers: recordedInformers{set, b}, Kinds: &b.kinds, Permitted: permitted.New(set, reviewer), Clock: clock.RealClock{},
		Logger: funcr.New(func(_, line string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.lines = append(b.lines, line)
		}, funcr.Options{}),
	}
	b.kinds.bench = b
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	b.spawn = func(run func(context.Context)) { running.Go(func() { run(ctx) }) }
	b.stop = func() {
		cancel()
		running.Wait()
	}
	for _, start := range []func(context.Context) error{set.Start, reviewer.Start} {
		b.spawn(func(ctx context.Context) {
			if err := start(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return b
}

// Before implements sim.Faults.
func (b *bench) Before(_ context.Context, r sim.Request) error {
	if r.User == ambitUser && strings.HasPrefix(r.Resource.Resource, "selfsubject") {
		b.reviews.Add(1)
	}
	if r.User == ambitUser && b.outage.Load() {
		return apierrors.NewServiceUnavailable("no leader")
	}
	return nil
}

// After implements sim.Faults.
func (*bench) After(_ context.Context, _ sim.Request, answer error) error { return answer }

// Stream implements sim.Faults.
func (*bench) Stream(sim.Request) sim.Stream { return nil }

// record notes a call.
func (b *bench) record(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call)
}

// take returns the calls since the last time, after so much time in which nothing happens.
func (b *bench) take(after time.Duration) []string {
	time.Sleep(after)
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.calls
	b.calls = nil
	return calls
}

// watched returns what Ambit has watches of, sorted.
func (b *bench) watched() (list []string) {
	for _, r := range b.server.Watches() {
		list = append(list, r.Resource.Resource)
	}
	slices.Sort(list)
	return list
}

func (b *bench) create(gvr schema.GroupVersionResource, namespace, text string) {
	b.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		b.Fatal(err)
	}
	if _, err := b.admin.Resource(gvr).Namespace(namespace).Create(b.Context(), obj, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) delete(gvr schema.GroupVersionResource, namespace, name string) {
	b.Helper()
	if err := b.admin.Resource(gvr).Namespace(namespace).Delete(b.Context(), name, metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
}

// grant lets Ambit list and watch resources everywhere.
func (b *bench) grant(name, group, plurals string) {
	b.Helper()
	b.create(clusterRoles, "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+name+"}, rules: [{apiGroups: ["+group+"], resources: ["+plurals+"], verbs: [list, watch]}]}")
	b.create(bindings, "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "+name+"}, roleRef: {kind: ClusterRole, name: "+name+"}, subjects: [{kind: User, name: "+ambitUser+"}]}")
}

func (b *bench) grantRBAC() {
	b.Helper()
	b.grant("rbac", "rbac.authorization.k8s.io", "roles, rolebindings, clusterroles, clusterrolebindings")
}

func (b *bench) grantDefinitions() {
	b.Helper()
	b.grant("definitions", "apiextensions.k8s.io", "customresourcedefinitions")
}

// recordedAccess records what a watcher tells a Reviewer.
type recordedAccess struct {
	*access.Reviewer
	bench *bench
}

func (r recordedAccess) Invalidate(namespace string) {
	r.bench.record("review " + namespace)
	r.Reviewer.Invalidate(namespace)
}

func (r recordedAccess) SetEventDriven(on bool) {
	if on {
		r.bench.record("events are seen")
	} else {
		r.bench.record("events are not seen")
	}
	r.Reviewer.SetEventDriven(on)
}

// recordedInformers records what a watcher tells a Set.
type recordedInformers struct {
	*informer.Set
	bench *bench
}

func (r recordedInformers) Reauthorize(polling bool) {
	if polling {
		r.bench.record("watches are reopened")
	} else {
		r.bench.record("watches stay open")
	}
	r.Set.Reauthorize(polling)
}

func (r recordedInformers) Retry(key informer.Key) {
	r.bench.record("retry " + key.String())
	r.Set.Retry(key)
}

// fakeKinds says whether a kind is unserved, as the test sets it, and when it was told to look again.
type fakeKinds struct {
	bench *bench
	// guarded by the bench's mu
	unserved  bool
	refreshed []time.Time
}

func (k *fakeKinds) AnyUnserved() bool {
	k.bench.mu.Lock()
	defer k.bench.mu.Unlock()
	return k.unserved
}

func (k *fakeKinds) RefreshAll() {
	k.bench.mu.Lock()
	defer k.bench.mu.Unlock()
	k.refreshed = append(k.refreshed, time.Now())
}

// takeRefreshed returns how long after a time kinds were looked up anew, since the last call.
func (b *bench) takeRefreshed(since time.Time) (list []time.Duration) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range b.kinds.refreshed {
		list = append(list, at.Sub(since))
	}
	b.kinds.refreshed = nil
	return list
}

// setUnserved says whether a kind is looked for and not served.
func (b *bench) setUnserved(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kinds.unserved = is
}
