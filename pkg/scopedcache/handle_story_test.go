package scopedcache

import (
	"context"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ambit-dev/ambit/pkg/informer"
)

func ownerNamed(name string) Owner { return Owner{NamespacedName: types.NamespacedName{Name: name}} }

// newHandlesWorld starts a cache that watches what handles need alone. There is an object "a" in the namespace.
func newHandlesWorld(t *testing.T) (w *world, namespace string) {
	t.Helper()
	w = newWorld(t, Options{Namespaces: Permitted("nowhere")}, cache.Options{})
	namespace = w.namespace()
	w.grantReads(namespace)
	w.create(namespace, "a")
	w.start()
	return w, namespace
}

// TestHandles: what is read through handles is watched once, until the last is closed.
func TestHandles(t *testing.T) {
	t.Parallel()
	w, namespace := newHandlesWorld(t)
	first, second := w.cache.For(ownerNamed("first")), w.cache.For(ownerNamed("second"))
	if w.cache.For(ownerNamed("first")) != first {
		t.Error("an owner has two handles")
	}
	key := client.ObjectKey{Namespace: namespace, Name: "a"}
	w.must(first.Get(w.ctx, key, &corev1.ConfigMap{}))
	w.must(second.Get(w.ctx, key, &corev1.ConfigMap{}))
	if states := w.cache.informers.States(); len(states) != 1 {
		t.Fatalf("streams for two handles: %v", states)
	}
	want := map[string][]rbacv1.PolicyRule{namespace: {{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}}}
	if rules := Rules(w.cache); len(rules) != 1 || len(rules[namespace]) != 1 || !slices.Equal(rules[namespace][0].Verbs, want[namespace][0].Verbs) {
		t.Errorf("the least rules: %v", rules)
	}
	first.Close()
	w.must(second.Get(w.ctx, key, &corev1.ConfigMap{}))
	second.Close()
	second.Close()
	if states := w.cache.informers.States(); len(states) > 0 {
		t.Errorf("streams after the last handle: %v", states)
	}
	if err := second.Get(w.ctx, key, &corev1.ConfigMap{}); err == nil {
		t.Error("a closed handle reads")
	}
	if kinds := w.cache.registry.NeededStores(); len(kinds) > 0 {
		t.Errorf("kinds after the last handle: %v", kinds)
	}
}

// TestRemoveInformer: it frees the store, and the kind can be watched again.
func TestRemoveInformer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Namespaces: InNamespaces()}, cache.Options{})
	namespace := w.namespace()
	w.grantReads(namespace)
	w.create(namespace, "a")
	w.must(w.cache.SetNamespaces(namespace))
	w.start()
	i, err := w.cache.GetInformer(w.ctx, &corev1.ConfigMap{})
	w.must(err)
	w.must(w.cache.RemoveInformer(w.ctx, &corev1.ConfigMap{}))
	if states := w.cache.informers.States(); !i.IsStopped() || len(states) > 0 {
		t.Errorf("after RemoveInformer: stopped %t, streams %v", i.IsStopped(), states)
	}
	if _, err := i.AddEventHandler(&recorder{}); err == nil {
		t.Error("a stopped informer takes a handler")
	}
	w.must(w.get(namespace, "a"))
}

// TestChanges: whoever asks is told who lost what, and that it is back.
func TestChanges(t *testing.T) {
	t.Parallel()
	w, namespace := newHandlesWorld(t)
	var mu sync.Mutex
	var changes []Change
	w.cache.OnChange(w.ctx, func(c Change) {
		mu.Lock()
		defer mu.Unlock()
		changes = append(changes, c)
	})
	told := func(state informer.State) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(changes, func(c Change) bool {
			return c.Namespace == namespace && c.State == state && slices.Equal(c.Owners, []Owner{ownerNamed("owner")})
		})
	}
	handle := w.cache.For(ownerNamed("owner"))
	defer handle.Close()
	w.must(handle.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, &corev1.ConfigMap{}))
	w.until("it is live", func() bool { return told(informer.Live) })
	w.revoke(namespace, "configmaps")
	w.until("it is lost", func() bool { return told(informer.Forbidden) })
	mu.Lock()
	changes = nil
	mu.Unlock()
	w.grantReads(namespace)
	w.until("it is back", func() bool { return told(informer.Live) })
}

// TestOwnWrites: a write is in the cache when it returns, whatever the namespace.
func TestOwnWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Namespaces: InNamespaces()}, cache.Options{})
	namespaces := []string{w.namespace(), w.namespace()}
	for _, namespace := range namespaces {
		w.grant(namespace, "", "configmaps", "list", "watch", "create", "update", "patch", "delete")
	}
	w.must(w.cache.SetNamespaces(namespaces...))
	w.start()
	c, err := NewClient(w.cluster.User("operator"), client.Options{Cache: &client.CacheOptions{Reader: w.cache}})
	w.must(err)
	_, err = w.names() // it is watched
	w.must(err)
	for range 10 {
		for _, namespace := range namespaces {
			w.writeAndRead(w.ctx, c, namespace)
		}
	}
}

// writeAndRead creates, changes and deletes an object, and reads it after each.
func (w *world) writeAndRead(ctx context.Context, c client.Client, namespace string) {
	w.Helper()
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = namespace, "own"
	w.must(c.Create(ctx, object))
	read := &corev1.ConfigMap{}
	w.must(c.Get(ctx, client.ObjectKeyFromObject(object), read))
	read.Data = map[string]string{"key": "changed"}
	w.must(c.Update(ctx, read))
	again := &corev1.ConfigMap{}
	w.must(c.Get(ctx, client.ObjectKeyFromObject(object), again))
	if again.Data["key"] != "changed" {
		w.Fatalf("an own change is not read: %v", again.Data)
	}
	w.must(c.Delete(ctx, again))
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), again); client.IgnoreNotFound(err) != nil || err == nil {
		w.Fatalf("an own deletion is not read: %v", err)
	}
}

// TestReadsAreFollowed: who has read something through a handle is enqueued when that changes, and nobody else.
func TestReadsAreFollowed(t *testing.T) {
	t.Parallel()
	w, namespace := newHandlesWorld(t)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	defer queue.ShutDown()
	w.must(Source(w.cache, nil).Start(ctx, queue))
	next := func() string {
		request, _ := queue.Get()
		queue.Done(request)
		return request.Name
	}
	byName, byLabel := w.cache.For(ownerNamed("by-name")), w.cache.For(ownerNamed("by-label"))
	defer byName.Close()
	defer byLabel.Close()
	w.must(byName.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, &corev1.ConfigMap{}))
	if name := next(); name != "by-name" {
		t.Errorf("the stream is live for %q", name)
	}
	w.must(byLabel.List(w.ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace), client.MatchingLabels{"a": "b"}))
	_, err := w.admin.CoreV1().ConfigMaps(namespace).Patch(w.ctx, "a", types.MergePatchType, []byte(`{"data":{"key":"other"}}`), metav1.PatchOptions{})
	w.must(err)
	if name := next(); name != "by-name" {
		t.Errorf("its object has changed for %q", name)
	}
	_, err = w.admin.CoreV1().ConfigMaps(namespace).Create(w.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{"a": "b"}},
	}, metav1.CreateOptions{})
	w.must(err)
	if name := next(); name != "by-label" {
		t.Errorf("its list has changed for %q", name)
	}
}

// TestOwnWritesEverywhere: it is the same in a stream of all namespaces, right after its first list.
func TestOwnWritesEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	namespace := w.namespace()
	made, err := New(Options{})(w.cluster.Admin(), cache.Options{})
	w.must(err)
	w.cache = made.(*Cache)
	_, err = w.cache.GetInformer(w.ctx, &corev1.ConfigMap{})
	w.must(err)
	w.start()
	if !w.cache.WaitForCacheSync(w.ctx) {
		t.Fatal("it does not sync")
	}
	c, err := NewClient(w.cluster.Admin(), client.Options{Cache: &client.CacheOptions{Reader: w.cache}})
	w.must(err)
	for range 10 {
		w.writeAndRead(w.ctx, c, namespace)
	}
	ended, stop := context.WithCancel(w.ctx)
	stop()
	other, err := New(Options{})(w.cluster.Admin(), cache.Options{})
	w.must(err)
	_, err = other.GetInformer(w.ctx, &corev1.ConfigMap{})
	w.must(err)
	w.must(other.Start(ended))
	c, err = NewClient(w.cluster.Admin(), client.Options{Cache: &client.CacheOptions{Reader: other}})
	w.must(err)
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late"}}
	w.must(c.Create(w.ctx, late)) // there is nothing to wait for
}
