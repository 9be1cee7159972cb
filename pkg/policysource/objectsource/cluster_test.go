package objectsource

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/test/policytext"
	"github.com/ambit-dev/ambit/test/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ambitUser is who the source reads and writes as.
const ambitUser = "ambit"

// patience is within how long everything must have been noticed: also rights that are taken away
// without anybody saying so.
const patience = 5 * time.Minute

var (
	policyResource = v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)
	mapResource    = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	crdResource    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func rbacResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: name}
}

// cluster is a simulated cluster with one source on it, in virtual time.
type cluster struct {
	*testing.T
	server *sim.Server
	admin  dynamic.Interface
	faults *faults
	source *Source
	wake   chan struct{}
	events []string
	log    []string
	shown  manifest.Snapshot // of the last reading
	isRead bool
	// everFlagged are the policies that some reading had as such whose finalizer cannot be set.
	everFlagged map[string]bool
	grants      int
}

// faults disturb the streams and requests of the source as long as they are set.
type faults struct {
	mu     sync.Mutex
	stream func(apiwatch.EventType) sim.Delivery
	refuse func(sim.Request) error
	counts map[string]int // requests by verb, resource and namespace
}

// set changes what is disturbed.
func (f *faults) set(stream func(apiwatch.EventType) sim.Delivery, refuse func(sim.Request) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stream, f.refuse = stream, refuse
}

// Before implements sim.Faults.
func (f *faults) Before(_ context.Context, r sim.Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.User != ambitUser {
		return nil
	}
	f.counts[strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Verb, r.Resource.Resource, r.Namespace))]++
	if f.refuse == nil {
		return nil
	}
	return f.refuse(r)
}

// After implements sim.Faults.
func (f *faults) After(_ context.Context, _ sim.Request, answer error) error { return answer }

// Stream implements sim.Faults.
func (f *faults) Stream(sim.Request) sim.Stream {
	return func(event apiwatch.EventType, _ uint64) sim.Delivery {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.stream == nil {
			return sim.Delivery{}
		}
		return f.stream(event)
	}
}

// eventRecorder notes events.
type eventRecorder struct{ *cluster }

// Eventf implements Recorder.
func (r eventRecorder) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	at, err := runtime.DefaultUnstructuredConverter.ToUnstructured(regarding)
	if err != nil {
		r.Error(err)
	}
	r.events = append(r.events, fmt.Sprintf("%s %s/%s %s %s", at["kind"], at["namespace"], at["name"], kind, reason+": "+fmt.Sprintf(note, args...)))
}

// newCluster has the namespaces own, team and other, and serves ReconcilePolicies.
func newCluster(t *testing.T, admission sim.Admission) *cluster {
	t.Helper()
	f := &faults{counts: map[string]int{}}
	c := &cluster{T: t, faults: f, wake: make(chan struct{}, 1), server: sim.New(sim.Options{Seed: 1, Faults: f, Admission: admission})}
	c.admin = c.server.As(sim.Admin).Dynamic()
	for _, name := range []string{"own", "team", "other"} {
		c.create(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	}
	c.install()
	return c
}

// install creates the CustomResourceDefinition.
func (c *cluster) install() {
	c.Helper()
	text, err := os.ReadFile("../../../manifests/crd/ambit.dev_reconcilepolicies.yaml")
	c.must(err)
	c.create(crdResource, "", string(text))
}

// start runs a source until the test ends.
func (c *cluster) start(make func(Options) *Source, namespaces ...string) {
	c.Helper()
	as := c.server.As(ambitUser)
	reviewer := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return as.Reviews(), nil }})
	streams := informer.NewSet(informer.Options{
		Clients:     func(string) (dynamic.Interface, metadata.Interface, error) { return as.Dynamic(), as.Metadata(), nil },
		Reauthorize: true,
	})
	c.source = make(Options{
		Namespace: "own", Namespaces: namespaces, Informers: permitted.New(streams, reviewer), Access: reviewer, Client: as.Dynamic(),
		Recorder: eventRecorder{c}, Logger: funcr.New(func(_, args string) { c.log = append(c.log, args) }, funcr.Options{}),
		Wake: func() {
			select {
			case c.wake <- struct{}{}:
			default:
			}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, start := range []func(context.Context) error{reviewer.Start, streams.Start} {
		running.Go(func() {
			if err := start(ctx); err != nil {
				c.Error(err)
			}
		})
	}
	c.Cleanup(func() {
		c.source.ReleaseAll()
		cancel()
		running.Wait()
	})
	c.read()
}

// read reads the source, and again whenever it is woken, for a while.
func (c *cluster) read() {
	c.Helper()
	c.everFlagged = map[string]bool{}
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		c.shown = manifest.Snapshot{}
		c.isRead = c.source.AddTo(&c.shown)
		for _, m := range c.shown.Manifests {
			if m.CannotSetFinalizer {
				c.everFlagged[m.Origin.Namespace+"/"+m.Origin.Name] = true
			}
		}
		select {
		case <-c.wake:
		case <-end.C:
			synctest.Wait()
			return
		}
	}
}

// describe says what was read last: the manifests, and of which namespaces everything is known.
func (c *cluster) describe() string {
	var words []string
	if !c.isRead {
		words = append(words, "unread")
	}
	for _, m := range c.shown.Manifests {
		word := m.Origin.Namespace + "/" + m.Origin.Name
		if m.Origin.Key != "" {
			word += ":" + m.Origin.Key
		}
		words = append(words, word)
	}
	for _, location := range c.shown.Complete {
		words = append(words, "all-of-"+location.Namespace)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// grant gives the source rights, in all namespaces or in one; the function takes them away.
func (c *cluster) grant(namespace, group, resources, verbs string) (revoke func()) {
	c.Helper()
	c.grants++
	kind, name := "", fmt.Sprintf("grant-%d", c.grants)
	roles, bindings := rbacResource("roles"), rbacResource("rolebindings")
	if namespace == "" {
		kind, roles, bindings = "Cluster", rbacResource("clusterroles"), rbacResource("clusterrolebindings")
	}
	const apiVersion = "rbac.authorization.k8s.io/v1"
	c.create(roles, namespace, fmt.Sprintf("{apiVersion: %s, kind: %sRole, metadata: {name: %s}, rules: [{apiGroups: ['%s'], resources: [%s], verbs: [%s]}]}", apiVersion, kind, name, group, resources, verbs))
	c.create(bindings, namespace, fmt.Sprintf("{apiVersion: %s, kind: %sRoleBinding, metadata: {name: %s}, roleRef: {kind: %sRole, name: %s}, subjects: [{kind: User, name: %s}]}", apiVersion, kind, name, kind, name, ambitUser))
	return func() { c.remove(bindings, namespace, name) }
}

func (c *cluster) create(resource schema.GroupVersionResource, namespace, text string) {
	c.Helper()
	object := &unstructured.Unstructured{}
	c.must(yaml.Unmarshal([]byte(text), &object.Object))
	_, err := c.admin.Resource(resource).Namespace(namespace).Create(c.Context(), object, metav1.CreateOptions{})
	c.must(err)
}

// createPolicy creates a ReconcilePolicy; see policytext.Document.
func (c *cluster) createPolicy(namespace, words string) {
	c.Helper()
	name := strings.Fields(words)[0]
	object := &unstructured.Unstructured{Object: policytext.Object(c, []byte(policytext.Document(words)), namespace, name)}
	_, err := c.admin.Resource(policyResource).Namespace(namespace).Create(c.Context(), object, metav1.CreateOptions{})
	c.must(err)
}

// createMap creates a ConfigMap with the label of policies.
func (c *cluster) createMap(namespace, name, data string) {
	c.Helper()
	c.create(mapResource, namespace, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {ambit.dev/policy-source: 'true'}}, data: %s}", name, data))
}

func (c *cluster) patch(resource schema.GroupVersionResource, namespace, name, patch string) {
	c.Helper()
	_, err := c.admin.Resource(resource).Namespace(namespace).Patch(c.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

func (c *cluster) remove(resource schema.GroupVersionResource, namespace, name string) {
	c.Helper()
	c.must(c.admin.Resource(resource).Namespace(namespace).Delete(c.Context(), name, metav1.DeleteOptions{}))
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Error(err)
		c.FailNow()
	}
}

// objectOf returns an object as the source has it.
func (c *cluster) objectOf(kind manifest.Kind, namespace, name string) *unstructured.Unstructured {
	return c.source.FindObject(manifest.Origin{Kind: kind, Namespace: namespace, Name: name})
}
