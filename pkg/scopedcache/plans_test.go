package scopedcache

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim"
)

var (
	plansFlag = flag.Int("plans", raced.Few(30, 200), "how many random plans are run on the simulated cluster")
	firstFlag = flag.Uint64("first", 1, "the seed of the first plan")
)

// TestPlans runs random plans on the simulated cluster, in virtual time: objects, rights and namespaces come and
// go, streams break, handles open and close. After each, when nothing has happened for a while, the cache has what the
// API server has where it may be seen, its event handler was told of that, and nothing is watched that nobody needs.
func TestPlans(t *testing.T) {
	t.Parallel()
	for i := range uint64(*plansFlag) {
		seed := *firstFlag + i
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { runPlan(t, seed) }) })
	}
}

var (
	configMapKind     = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	roleResource      = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	bindingResource   = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// plan is one run.
type plan struct {
	*testing.T
	random  *rand.Rand
	server  *sim.Server
	admin   dynamic.Interface
	cache   *Cache
	rule    streamlayout.Rule
	watched []string // that the cache was told of
	granted map[string]bool
	handles []*Handle
	failing atomic.Bool // requests of the cache fail
	expired atomic.Bool // its token is not accepted

	mu   sync.Mutex        // guards what is below
	seen map[string]string // by object, the resourceVersion that the handler was last told of
}

var allPlaces = []string{"one", "two", "three", "four"}

func runPlan(t *testing.T, seed uint64) {
	p := &plan{T: t, random: rand.New(rand.NewPCG(seed, 14)), granted: map[string]bool{}, seen: map[string]string{}}
	p.server = sim.New(sim.Options{Seed: seed, Faults: p})
	p.admin = p.server.As(sim.Admin).Dynamic()
	for _, namespace := range allPlaces {
		p.write(namespaceResource, "", object("v1", "Namespace", namespace))
		p.write(roleResource, namespace, readerRole())
	}
	p.makeCache()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.cache.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	i, err := p.cache.GetInformer(ctx, newConfigMap(), cache.BlockUntilSynced(false))
	p.must(err)
	_, err = i.AddEventHandler(p)
	p.must(err)
	for range 5 + p.random.IntN(40) {
		p.step()
	}
	p.failing.Store(false)
	p.rest()
	p.check(ctx)
	for _, h := range p.handles {
		h.Close()
	}
	p.must(p.cache.RemoveInformer(ctx, newConfigMap()))
	synctest.Wait()
	if open := p.server.Watches(); len(open) > 0 {
		t.Errorf("nobody needs what is watched: %v", open)
	}
	stop()
	running.Wait() // the bubble ends with the test: a goroutine that is left fails it
}

// makeCache makes a cache of one of the rules, on the simulated cluster.
func (p *plan) makeCache() {
	p.rule = []streamlayout.Rule{streamlayout.AsConfigured, streamlayout.Fixed, streamlayout.Permitted}[p.random.IntN(3)]
	own := Options{}
	options := map[string]cache.Config{}
	p.watched = slices.Clone(allPlaces[:2])
	switch p.rule {
	case streamlayout.AsConfigured:
		for _, namespace := range p.watched {
			options[namespace] = cache.Config{}
		}
	case streamlayout.Fixed:
		own.Namespaces = InNamespaces(p.watched...)
	case streamlayout.Permitted:
		own.Namespaces = Permitted(p.watched...)
	}
	p.makeCacheOf(own, options)
}

// makeCacheOf makes a cache of unstructured objects on the simulated cluster.
func (p *plan) makeCacheOf(own Options, options map[string]cache.Config) {
	client := p.server.As("operator")
	made, err := kindsettings.New(&rest.Config{}, nil, cache.Options{Mapper: client.Mapper(), DefaultNamespaces: options})
	p.must(err)
	made.Connect = func(key kindsettings.Key, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error) {
		if key.Flavor == kindsettings.Metadata {
			return listwatch.MetadataSource(client.Metadata().Resource(mapping.Resource).Namespace(namespace)), nil
		}
		return listwatch.DynamicSource(client.Dynamic().Resource(mapping.Resource).Namespace(namespace)), nil
	}
	p.cache, err = newCache(own, cache.Options{}, made, client.Reviews(), &identity{known: "operator"})
	p.must(err)
}

func (p *plan) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name},
	}}
}

func newConfigMap() *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(configMapKind)
	return made
}

func readerRole() *unstructured.Unstructured {
	role := object("rbac.authorization.k8s.io/v1", "Role", "reader")
	role.Object["rules"] = []any{map[string]any{
		"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"list", "watch"},
	}}
	return role
}

func (p *plan) write(resource schema.GroupVersionResource, namespace string, made *unstructured.Unstructured) {
	p.Helper()
	_, err := p.admin.Resource(resource).Namespace(namespace).Create(p.Context(), made, metav1.CreateOptions{})
	p.must(err)
}

// step does something, and lets some time go by.
func (p *plan) step() {
	namespace := allPlaces[p.random.IntN(len(allPlaces))]
	switch p.random.IntN(12) {
	case 0, 1, 2:
		p.flipRight(namespace)
	case 3:
		p.replaceNamespaces()
	case 4:
		p.server.Compact()
	case 5:
		p.failing.Store(!p.failing.Load())
	case 6:
		p.flipHandle(namespace)
	default:
		p.changeObject(namespace)
	}
	time.Sleep(time.Duration(p.random.IntN(3000)) * time.Millisecond * time.Duration(p.random.IntN(2)))
}

func (p *plan) flipRight(namespace string) {
	if p.granted[namespace] {
		p.must(p.admin.Resource(bindingResource).Namespace(namespace).Delete(p.Context(), "reader", metav1.DeleteOptions{}))
	} else {
		binding := object("rbac.authorization.k8s.io/v1", "RoleBinding", "reader")
		binding.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
		binding.Object["subjects"] = []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}}
		p.write(bindingResource, namespace, binding)
	}
	p.granted[namespace] = !p.granted[namespace]
}

func (p *plan) replaceNamespaces() {
	if p.rule == streamlayout.AsConfigured {
		return
	}
	p.watched = nil
	for _, namespace := range allPlaces {
		if p.random.IntN(2) == 0 {
			p.watched = append(p.watched, namespace)
		}
	}
	p.must(p.cache.SetNamespaces(p.watched...))
}

// flipHandle opens a handle that reads a namespace, or closes one.
func (p *plan) flipHandle(namespace string) {
	if len(p.handles) > 2 {
		p.handles[0].Close()
		p.handles = p.handles[1:]
		return
	}
	h := p.cache.For(Owner{NamespacedName: types.NamespacedName{Namespace: namespace, Name: strconv.Itoa(p.random.Int())}})
	p.handles = append(p.handles, h)
	ctx, cancel := context.WithTimeout(p.Context(), time.Second)
	defer cancel()
	_ = h.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, newConfigMap()) // whatever it says: it is looked at in the end
}

// changeObject creates, changes or deletes an object.
func (p *plan) changeObject(namespace string) {
	configMaps, name := p.admin.Resource(configMapResource).Namespace(namespace), []string{"a", "b"}[p.random.IntN(2)]
	found, err := configMaps.Get(p.Context(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		p.write(configMapResource, namespace, object("v1", "ConfigMap", name))
		return
	case p.random.IntN(3) == 0:
		p.must(configMaps.Delete(p.Context(), name, metav1.DeleteOptions{}))
		return
	}
	found.Object["data"] = map[string]any{"key": strconv.Itoa(p.random.Int())}
	_, err = configMaps.Update(p.Context(), found, metav1.UpdateOptions{})
	p.must(err)
}

// rest lets all be seen that is to be seen: the longest wait of a reviewer is a minute.
func (p *plan) rest() {
	time.Sleep(3 * time.Minute)
	synctest.Wait()
}

// check compares the cache with the API server.
func (p *plan) check(ctx context.Context) {
	want, visible, denied := map[string]string{}, []string{}, false
	for _, namespace := range p.watched {
		if p.granted[namespace] {
			visible = append(visible, namespace)
		} else {
			denied = denied || p.rule != streamlayout.Permitted
		}
	}
	for _, namespace := range visible {
		list, err := p.admin.Resource(configMapResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		p.must(err)
		for _, item := range list.Items {
			want[namespace+"/"+item.GetName()] = item.GetResourceVersion()
		}
	}
	got := map[string]string{}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := p.cache.List(ctx, list)
	if denied != apierrors.IsForbidden(err) || err != nil && !denied {
		p.Errorf("rule %d, some denied: %t; the list says: %v", p.rule, denied, err)
	}
	for _, item := range list.Items {
		got[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
	}
	p.keepVisible(got, visible)
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("rule %d: the cache is not the API server (-want +got):\n%s", p.rule, diff)
	}
	p.mu.Lock()
	seen := maps.Clone(p.seen)
	p.mu.Unlock() // what is read below may have the handler told
	for name, version := range want {
		if seen[name] != version {
			p.Errorf("rule %d: of %s the handler knows %q, it is at %q", p.rule, name, seen[name], version)
		}
	}
	p.checkStreams(visible)
	for _, namespace := range allPlaces {
		p.checkRead(ctx, namespace)
	}
}

// keepVisible drops what handles alone have brought.
func (p *plan) keepVisible(got map[string]string, visible []string) {
	maps.DeleteFunc(got, func(name, _ string) bool {
		namespace, _, _ := toolscache.SplitMetaNamespaceKey(name)
		return p.rule == streamlayout.Permitted && !slices.Contains(visible, namespace) && p.granted[namespace] && p.isRead(namespace)
	})
}

// isRead reports whether an open handle has read in a namespace.
func (p *plan) isRead(namespace string) bool {
	return slices.ContainsFunc(p.handles, func(h *Handle) bool { return h.holder.Owner.Namespace == namespace })
}

// checkStreams: what is watched is what may be seen, once each.
func (p *plan) checkStreams(visible []string) {
	open := map[string]int{}
	for _, r := range p.server.Watches() {
		open[r.Namespace]++
	}
	for _, namespace := range allPlaces {
		want := 0
		if slices.Contains(visible, namespace) || p.rule == streamlayout.Permitted && p.granted[namespace] && p.isRead(namespace) {
			want = 1
		}
		if open[namespace] != want {
			p.Errorf("rule %d: %d streams in %s, wanted is %d", p.rule, open[namespace], namespace, want)
		}
	}
}

// checkRead: a read of a namespace ends at once, and says what is true.
func (p *plan) checkRead(ctx context.Context, namespace string) {
	h := p.cache.For(Owner{NamespacedName: types.NamespacedName{Name: "last"}})
	defer h.Close()
	err := h.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "c"}, newConfigMap())
	var denied *DeniedError
	isDenied := errors.As(err, &denied)
	isOurs := p.rule == streamlayout.Permitted || slices.Contains(p.watched, namespace)
	switch {
	case isOurs && p.granted[namespace] && !apierrors.IsNotFound(err), isOurs && !p.granted[namespace] && !isDenied:
		p.Errorf("rule %d: reading in %s, granted: %t, says: %v", p.rule, namespace, p.granted[namespace], err)
	case !isOurs && (err == nil || apierrors.IsNotFound(err) || isDenied):
		p.Errorf("rule %d: reading in %s, which is none of the cache's, says: %v", p.rule, namespace, err)
	}
	want := fmt.Sprintf("cannot list, watch configmaps in namespace %q as operator", namespace)
	if isDenied && denied.Error() != want {
		p.rest() // it may be the first read of the namespace: what a review adds comes a moment later
		if err := h.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "c"}, newConfigMap()); err == nil || err.Error() != want {
			p.Errorf("the error says: %v, and after a while: %v", denied, err)
		}
	}
}

// OnAdd implements toolscache.ResourceEventHandler.
func (p *plan) OnAdd(object any, _ bool) { p.note(object, object.(client.Object).GetResourceVersion()) }

// OnUpdate implements toolscache.ResourceEventHandler.
func (p *plan) OnUpdate(_, object any) { p.note(object, object.(client.Object).GetResourceVersion()) }

// OnDelete implements toolscache.ResourceEventHandler.
func (p *plan) OnDelete(object any) { p.note(object, "") }

func (p *plan) note(object any, version string) {
	name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		p.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[name] = version
}

// Before implements sim.Faults.
func (p *plan) Before(_ context.Context, r sim.Request) error {
	if r.User == "operator" && p.expired.Load() {
		return apierrors.NewUnauthorized("the token has expired")
	}
	if r.User == "operator" && p.failing.Load() && r.Resource == configMapResource {
		return apierrors.NewServiceUnavailable("no leader")
	}
	return nil
}

// After implements sim.Faults.
func (p *plan) After(_ context.Context, _ sim.Request, answer error) error { return answer }

// Stream implements sim.Faults.
func (p *plan) Stream(sim.Request) sim.Stream { return nil }
