package sim_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/test/sim"
)

// ambitUser is who Ambit is on the simulated server.
const ambitUser = "ambit"

var memcacheds = schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}

// TestAmbit runs Ambit on the simulated server, in virtual time: rights are granted and
// taken away in one namespace, and two others go on. It ends only when every goroutine
// has.
func TestAmbit(t *testing.T) {
	t.Run("RBACObjectsWatchable", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { newStage(t, true).play() }) })
	t.Run("Blind", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { newStage(t, false).play() }) })
}

// TestOlderView: the streams of owners change over while one is resized, and the new
// stream is behind: what was done is not undone.
func TestOlderView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counts{all: map[string]int{}}
		s := newStageWith(t, false, c, &behind{counts: c})
		s.delete("clusterrolebindings", "", "owners")
		s.create("clusterroles", "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: namespaces}, rules: [{apiGroups: [''], resources: [namespaces], verbs: [list, watch]}]}")
		s.bind("clusterrolebindings", "ClusterRoleBinding", "", "namespaces")
		s.bind("rolebindings", "RoleBinding", "one", "owners")
		s.run()
		s.owner("one", 2)
		s.ready("one", 2)
		writes := c.of("create deployments one") + c.of("patch deployments one")
		s.bind("clusterrolebindings", "ClusterRoleBinding", "", "owners")
		s.until("the stream of all owners is opened", func() bool { return slices.ContainsFunc(s.server.Watches(), isOfAllOwners) })
		s.resize("one", 4)
		s.until("the streams have changed over", func() bool {
			return !slices.ContainsFunc(s.server.Watches(), func(r sim.Request) bool { return r.Resource == memcacheds && r.Namespace == "one" })
		})
		time.Sleep(time.Minute)
		s.ready("one", 4)
		if now := c.of("create deployments one") + c.of("patch deployments one"); now != writes+1 {
			s.Errorf("%d writes of the Deployment for one change", now-writes)
		}
		s.stop()
	})
}

// behind holds up the end of the first list of all owners, and longer what comes after it;
// but only in the first stream: they are opened anew every few seconds.
type behind struct {
	*counts
	opened atomic.Bool
}

func isOfAllOwners(r sim.Request) bool { return r.Resource == memcacheds && r.Namespace == "" }

// Stream implements sim.Faults.
func (b *behind) Stream(r sim.Request) sim.Stream {
	if !isOfAllOwners(r) || b.opened.Swap(true) {
		return nil
	}
	lags := map[apiwatch.EventType]time.Duration{apiwatch.Bookmark: 2 * time.Second, apiwatch.Modified: 5 * time.Second}
	return func(event apiwatch.EventType, _ uint64) sim.Delivery { return sim.Delivery{Lag: lags[event]} }
}

// stage is a simulated cluster with Ambit on it.
type stage struct {
	*testing.T
	server *sim.Server
	counts *counts
	admin  dynamic.Interface
	blind  bool
	stop   func()
}

// counts are Faults that disturb nothing and count Ambit's requests, by verb, resource
// and namespace.
type counts struct {
	mu  sync.Mutex
	all map[string]int
}

func (c *counts) Before(_ context.Context, r sim.Request) error {
	if r.User != ambitUser {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[fmt.Sprintf("%s %s %s", r.Verb, r.Resource.Resource, r.Namespace)]++
	return nil
}

func (c *counts) After(_ context.Context, _ sim.Request, answer error) error { return answer }

func (c *counts) Stream(sim.Request) sim.Stream { return nil }

// of returns how many requests there were that begin with a text.
func (c *counts) of(prefix string) (found int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, count := range c.all {
		if strings.HasPrefix(key, prefix) {
			found += count
		}
	}
	return found
}

func newStage(t *testing.T, triggers bool) *stage {
	c := &counts{all: map[string]int{}}
	return newStageWith(t, triggers, c, c)
}

// newStageWith has faults that may do more than to count.
func newStageWith(t *testing.T, triggers bool, c *counts, faults sim.Faults) *stage {
	s := &stage{T: t, counts: c, blind: !triggers, server: sim.New(sim.Options{Seed: 7, AuthorizerLag: 10 * time.Millisecond, Faults: faults})}
	s.admin = s.server.As(sim.Admin).Dynamic()
	s.create("crds", "", read(t, "../../examples/memcached/crd.yaml"))
	for _, name := range []string{"one", "two", "denied"} {
		s.create("namespaces", "", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	}
	s.grantEverywhere("owners", `[{apiGroups: [cache.example.com], resources: [memcacheds], verbs: [get, list, watch]}, {apiGroups: [cache.example.com], resources: [memcacheds/status], verbs: [patch]}]`)
	if triggers {
		s.grantEverywhere("triggers", `[{apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings, clusterroles, clusterrolebindings], verbs: [list, watch]}]`)
	}
	s.grant("one")
	s.grant("two")
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (s *stage) create(resource, namespace, text string) {
	s.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		s.Fatal(err)
	}
	gvr, ok := resources()[resource]
	if !ok {
		gvr = memcacheds
	}
	if _, err := s.admin.Resource(gvr).Namespace(namespace).Create(s.Context(), obj, metav1.CreateOptions{FieldManager: "stage"}); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) grantEverywhere(name, rules string) {
	s.create("clusterroles", "", fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}, rules: %s}", name, rules))
	s.bind("clusterrolebindings", "ClusterRoleBinding", "", name)
}

// bind gives Ambit a ClusterRole, everywhere or in one namespace.
func (s *stage) bind(resource, kind, namespace, role string) {
	s.create(resource, namespace, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {name: %s}, roleRef: {kind: ClusterRole, name: %s}, subjects: [{kind: User, name: %s}]}", kind, role, role, ambitUser))
}

func (s *stage) grant(namespace string) {
	s.create("roles", namespace, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: ambit}, rules: [{apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, create, patch, delete]}, {apiGroups: [""], resources: [pods], verbs: [list, watch]}]}`)
	s.create("rolebindings", namespace, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: ambit}, roleRef: {kind: Role, name: ambit}, subjects: [{kind: User, name: %s}]}", ambitUser))
}

func (s *stage) revoke(namespace string) {
	s.delete("roles", namespace, "ambit")
	s.delete("rolebindings", namespace, "ambit")
}

func (s *stage) delete(resource, namespace, name string) {
	s.Helper()
	gvr, ok := resources()[resource]
	if !ok {
		gvr = memcacheds
	}
	if err := s.admin.Resource(gvr).Namespace(namespace).Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

// run starts Ambit with the Memcached operator.
func (s *stage) run() {
	s.Helper()
	s.runWith(memcachedOnly(s.T))
}

// runWith starts Ambit; stop ends it and waits, and the server's controllers with it.
func (s *stage) runWith(programs []*policy.Program) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var controllers sync.WaitGroup
	controllers.Go(func() { s.server.Run(ctx) })
	end := startAmbit(s.T, s.server, ambitUser, controller.Options{Programs: programs})
	s.stop = func() {
		end()
		cancel()
		controllers.Wait()
	}
}

// memcachedOnly is the policy of the Memcached operator.
func memcachedOnly(t *testing.T) []*policy.Program {
	t.Helper()
	return programs(t, read(t, "../../policies/memcached.yaml"))
}

// programs is one policy.
func programs(t *testing.T, text string) []*policy.Program {
	t.Helper()
	documents, err := syntax.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	return []*policy.Program{program}
}

// startAmbit starts Ambit as package manager puts it together, with the rest of the
// options as they are; stop ends it and waits.
func startAmbit(t *testing.T, server *sim.Server, user string, o controller.Options) (stop func()) {
	t.Helper()
	_, stop = startController(t, server, user, o)
	return stop
}

// startController is startAmbit, and returns the controller as well.
func startController(t *testing.T, server *sim.Server, user string, o controller.Options) (started *controller.Controller, stop func()) {
	t.Helper()
	as := func(identity string) *sim.Client {
		c := server.As(user)
		if identity != "" {
			c = c.Impersonate(identity)
		}
		return c
	}
	o.Informers = informer.NewSet(informer.Options{
		Clients: func(id string) (dynamic.Interface, metadata.Interface, error) {
			return as(id).Dynamic(), as(id).Metadata(), nil
		},
		Retry: informer.Exponential(4*time.Second, 30*time.Second, nil),
	})
	o.Access = access.New(access.Options{Reviews: func(id string) (access.Reviews, error) { return as(id).Reviews(), nil }})
	o.Clients = func(id string) (dynamic.Interface, error) { return as(id).Dynamic(), nil }
	o.Identity, o.Served = user, served(as("").Served)
	e, err := controller.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	usedCtx, end := context.WithCancel(t.Context())
	var used, working sync.WaitGroup
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	used.Go(func() { check(o.Informers.Start(usedCtx)) })
	used.Go(func() { check(o.Access.Start(usedCtx)) })
	working.Go(func() { check(e.Start(ctx)) })
	return e, func() {
		cancel()
		working.Wait()
		end()
		used.Wait()
	}
}

// play is the story.
func (s *stage) play() {
	began := time.Now()
	s.run()
	s.owner("one", 2)
	s.ready("one", 2)
	s.owner("two", 3)
	s.ready("two", 3)
	calm := s.counts.of("list deployments one") + s.counts.of("watch deployments one")

	s.owner("denied", 1)
	s.saysMissing()
	if asked := s.counts.of("create deployments denied"); asked > 0 {
		s.Errorf("%d creates in a namespace without rights", asked)
	}

	s.grant("denied")
	s.ready("denied", 1)
	made := s.deployment("denied").GetUID()

	s.revoke("denied")
	s.saysMissing()
	s.resize("one", 4)
	s.ready("one", 4)
	s.until("nothing is watched there any more", func() bool { return s.watched("denied") == 0 })

	s.grant("denied")
	s.ready("denied", 1)
	if uid := s.deployment("denied").GetUID(); uid != made {
		s.Errorf("the Deployment is another one: %s, was %s", uid, made)
	}
	if now := s.counts.of("list deployments one") + s.counts.of("watch deployments one"); now != calm && !s.blind {
		s.Errorf("namespace one was disturbed: %d streams were opened, had been %d", now, calm)
	}
	s.restAnHour()

	for _, namespace := range []string{"one", "two", "denied"} {
		writes := func() int {
			return s.counts.of("create deployments") + s.counts.of("patch") + s.counts.of("delete")
		}
		before := writes()
		s.delete("memcacheds", namespace, "cache")
		s.until("the Deployment in "+namespace+" goes", func() bool { return s.deployment(namespace) == nil })
		time.Sleep(time.Minute)
		if now := writes(); now != before {
			s.Errorf("%d writes in %s for an owner that was deleted", now-before, namespace)
		}
	}
	s.stop()
	if open := s.server.Watches(); len(open) > 0 {
		s.Errorf("watches are open at the end: %v", open)
	}
	s.Logf("%s of virtual time, %d requests", time.Since(began).Round(time.Second), s.counts.of(""))
}

// restAnHour: nothing is written while nothing happens.
func (s *stage) restAnHour() {
	before := s.server.ResourceVersion()
	time.Sleep(time.Hour)
	if after := s.server.ResourceVersion(); after != before {
		s.Errorf("%d writes in a quiet hour", after-before)
	}
}

func (s *stage) owner(namespace string, size int) {
	s.create("memcacheds", namespace, fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: cache}, spec: {size: %d}}", size))
}

func (s *stage) resize(namespace string, size int) {
	s.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
	if _, err := s.admin.Resource(memcacheds).Namespace(namespace).Patch(s.Context(), "cache", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

// deployment is that of a namespace; nil if there is none.
func (s *stage) deployment(namespace string) *unstructured.Unstructured {
	s.Helper()
	return s.read(resources()["deployments"], namespace, "cache")
}

// read is an object; nil if there is none.
func (s *stage) read(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	s.Helper()
	obj, err := s.admin.Resource(resource).Namespace(namespace).Get(s.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return obj
}

func (s *stage) cache(namespace string) *unstructured.Unstructured {
	s.Helper()
	obj, err := s.admin.Resource(memcacheds).Namespace(namespace).Get(s.Context(), "cache", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return obj
}

// ready waits for the Deployment, says that its Pods run, and waits until the owner
// knows.
func (s *stage) ready(namespace string, size int64) {
	s.Helper()
	s.until(fmt.Sprintf("a Deployment of %d in %s", size, namespace), func() bool {
		d := s.deployment(namespace)
		if d == nil {
			return false
		}
		replicas, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		return replicas == size
	})
	patch := fmt.Appendf(nil, `{"status":{"observedGeneration":%d,"replicas":%d,"updatedReplicas":%d,"readyReplicas":%d,"availableReplicas":%d,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}}`,
		s.deployment(namespace).GetGeneration(), size, size, size, size)
	if _, err := s.admin.Resource(resources()["deployments"]).Namespace(namespace).Patch(s.Context(), "cache", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		s.Fatal(err)
	}
	s.until("the owner in "+namespace+" is ready", func() bool { return condition(s.cache(namespace), "Ready") == "True" })
}

func condition(obj *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	i := slices.IndexFunc(conditions, func(c any) bool { return c.(map[string]any)["type"] == kind })
	if i < 0 {
		return ""
	}
	return fmt.Sprint(conditions[i].(map[string]any)["status"])
}

// saysMissing waits until the owner without rights says what is missing.
func (s *stage) saysMissing() {
	s.Helper()
	const want = `Not permitted to get, list, watch, create, patch, delete deployments.apps in namespace "denied"; list, watch pods in namespace "denied"`
	s.until("the owner says what is missing", func() bool {
		message, _, _ := unstructured.NestedString(s.cache("denied").Object, "status", "state", "message")
		return message == want
	})
}

// watched is how many watches Ambit has open in a namespace.
func (s *stage) watched(namespace string) int {
	return len(slices.DeleteFunc(s.server.Watches(), func(r sim.Request) bool { return r.User != ambitUser || r.Namespace != namespace }))
}

// until lets virtual time pass until ok.
func (s *stage) until(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		synctest.Wait()
		if ok() {
			return
		}
	}
	for _, resource := range []schema.GroupVersionResource{memcacheds, resources()["deployments"]} {
		list, err := s.admin.Resource(resource).List(s.Context(), metav1.ListOptions{})
		text, _ := yaml.Marshal(list) // for the log
		s.Logf("%v\n%s", err, text)
	}
	s.Fatalf("%s: not within 5 minutes", what)
}

// served asks about one kind after the other.
func served(find func(context.Context, schema.GroupKind) ([]*meta.RESTMapping, error)) func(context.Context, []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
	return func(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
		answer := make(map[schema.GroupKind]discovery.ServedKind, len(kinds))
		for _, kind := range kinds {
			mappings, err := find(ctx, kind)
			answer[kind] = discovery.ServedKind{Mappings: mappings, Err: err}
		}
		return answer, nil
	}
}
