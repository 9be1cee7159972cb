package manager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/scopedcache"
	"github.com/ambit-dev/ambit/test/cluster"
)

// settingsPolicy reads Memcacheds and ConfigMaps, and makes nothing.
const settingsPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: settings}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  watches:
    - {id: settings, apiVersion: v1, kind: ConfigMap}
  status:
    nodes: ${settings.map(s, s.data.key)}
`

// cacheBeside is a process with a cache and Ambit.
type cacheBeside struct {
	*world
	user  string
	cache cache.Cache
	*running
}

// runBoth runs a cache and Ambit as a user: on one set of informers, or on two.
func (w *world) runBoth(user string, shared bool, places ...string) *cacheBeside {
	w.Helper()
	config := control.Cluster(w).User(user)
	own := scopedcache.Options{Namespaces: scopedcache.InNamespaces(places...)}
	o := Options{Config: config, Programs: []*policy.Program{compileText(w.T, settingsPolicy)}, Namespaces: places}
	if shared {
		reads, err := NewReads(config, o.Logger)
		if err != nil {
			w.Fatal(err)
		}
		own.Reads, o.Reads = reads, reads
	}
	made, err := scopedcache.New(own)(config, cache.Options{})
	if err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.Context())
	var caching sync.WaitGroup
	caching.Go(func() {
		if err := made.Start(ctx); err != nil {
			w.Error(err)
		}
	})
	b := &cacheBeside{world: w, user: user, cache: made, running: w.run(o)}
	w.Cleanup(func() { stop(); caching.Wait() })
	return b
}

// nodes returns what the policy has written to an owner.
func (b *cacheBeside) nodes(name string) string {
	b.Helper()
	owner, err := b.objects.Resource(memcacheds).Namespace(b.namespace).Get(b.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	nodes, _, _ := unstructured.NestedStringSlice(owner.Object, "status", "nodes")
	return strings.Join(nodes, " ")
}

// watchesSince returns the watches of a resource that the user has opened since a mark, and until when each was open.
func (b *cacheBeside) watchesSince(mark cluster.Mark, resource string) (opened []cluster.Request, until []time.Time) {
	b.Helper()
	found, err := control.Cluster(b).Audit().Since(mark, b.user)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range found {
		if r.Resource != resource || !r.IsWatchOpened() {
			continue
		}
		ended := time.Now()
		for _, other := range found {
			if other.IsWatchClosed() && other.Time.Equal(r.Time) && other.URI == r.URI {
				ended = other.Logged
			}
		}
		opened, until = append(opened, r), append(until, ended)
	}
	return opened, until
}

// checkOneStream waits until the watch of a resource was opened anew a few times, and checks that there was one at a time.
func (b *cacheBeside) checkOneStream(mark cluster.Mark, resource string) {
	b.Helper()
	b.eventually("the watch of "+resource+" was opened anew", func(context.Context) error {
		if opened, _ := b.watchesSince(mark, resource); len(opened) < 3 {
			return fmt.Errorf("%d watches", len(opened))
		}
		return nil
	})
	opened, until := b.watchesSince(mark, resource)
	for i, one := range opened {
		for j, other := range opened[:i] {
			overlap := min(until[i].UnixMilli(), until[j].UnixMilli()) - max(one.Logged.UnixMilli(), other.Logged.UnixMilli())
			if overlap > 1000 { // each lasts 3 seconds or more
				b.Errorf("two watches of %s were open for %d ms: %s, %s", resource, overlap, one.URI, other.URI)
			}
		}
	}
}

// reviews returns how many access reviews the user has sent since a mark.
func (b *cacheBeside) reviews(mark cluster.Mark) (count int) {
	b.Helper()
	found, err := control.Cluster(b).Audit().Since(mark, b.user)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range found {
		if strings.HasPrefix(r.Resource, "selfsubject") && r.Resource != "selfsubjectreviews" {
			count++
		}
	}
	return count
}

// TestSharedReads: a cache and Ambit in one process list and watch a kind once in a place, and each has of an object what
// it wants; what is denied is reviewed once for both. Whichever ends, the other goes on.
func TestSharedReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rights := append(memcachedRights(), rule("", "configmaps", "list", "watch"))
	w.grantTo("both", rights...)
	w.createOwner("one")
	w.putSetting("a", "first")
	b := w.runBoth("both", true, w.namespace)
	events := &toldNames{}
	for _, object := range []client.Object{&corev1.ConfigMap{}, newMemcached()} {
		i, err := b.cache.GetInformer(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := i.AddEventHandler(events); err != nil {
			t.Fatal(err)
		}
	}
	is := func(nodes string) {
		t.Helper()
		w.eventually("both have read "+nodes, func(ctx context.Context) error {
			setting := &corev1.ConfigMap{}
			if err := b.cache.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "a"}, setting); err != nil {
				return err
			}
			owner := newMemcached()
			if err := b.cache.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "one"}, owner); err != nil {
				return err
			}
			size, _, _ := unstructured.NestedInt64(owner.Object, "spec", "size")
			if got := b.nodes("one"); got != nodes || setting.Data["key"] != nodes || setting.Data["unread"] != "kept" || size != 1 {
				return fmt.Errorf("Ambit has read %q, the cache %v and size %d", got, setting.Data, size)
			}
			return nil
		})
	}
	is("first")
	settled := control.Cluster(t).Audit().Mark()
	w.putSetting("a", "second")
	is("second")
	w.eventually("handlers were told", func(context.Context) error {
		if told := events.all(); !slices.Contains(told, "update a") || !slices.Contains(told, "update one") {
			return fmt.Errorf("they were told %v", told)
		}
		return nil
	})
	for _, resource := range []string{"configmaps", "memcacheds"} {
		b.checkOneStream(settled, resource)
	}
	b.stop()
	if b.err != nil {
		t.Errorf("Ambit: %v", b.err)
	}
	w.putSetting("a", "third")
	w.eventually("the cache goes on", func(ctx context.Context) error {
		setting := &corev1.ConfigMap{}
		if err := b.cache.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "a"}, setting); err != nil || setting.Data["key"] != "third" {
			return fmt.Errorf("%v, %v", setting.Data, err)
		}
		return nil
	})
}

// TestSharedReviews: what is denied to both is reviewed as often as for one.
func TestSharedReviews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, apart := w.runBoth("both-denied", true, w.namespace), w.runBoth("apart", false, w.namespace)
	for _, b := range []*cacheBeside{b, apart} {
		w.eventually("it is denied", func(ctx context.Context) error {
			err := b.cache.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "a"}, &corev1.ConfigMap{})
			if !apierrors.IsForbidden(err) {
				return fmt.Errorf("%v", err)
			}
			return nil
		})
	}
	mark := control.Cluster(t).Audit().Mark()
	w.eventually("there were reviews", func(context.Context) error {
		if n := apart.reviews(mark); n < 8 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	if together, two := b.reviews(mark), apart.reviews(mark); together == 0 || float64(together) > 0.75*float64(two) {
		t.Errorf("%d reviews of one process that shares, %d of one that does not", together, two)
	}
}

// TestSharedIdentity: informers are not shared with somebody else.
func TestSharedIdentity(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: "https://one", BearerToken: "a"}
	reads, err := NewReads(config, Options{}.Logger)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		config rest.Config
		want   string
	}{
		"Same":   {rest.Config{Host: "https://one", BearerToken: "a", QPS: 5, UserAgent: "other"}, ""},
		"Server": {rest.Config{Host: "https://two", BearerToken: "a"}, `of the API server "https://one", not of "https://two"`},
		"User":   {rest.Config{Host: "https://one", BearerToken: "b"}, "other credentials"},
		"As":     {rest.Config{Host: "https://one", BearerToken: "a", Impersonate: rest.ImpersonationConfig{UserName: "c"}}, "other credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := reads.ShareReads(&tc.config, informer.UserOptions{})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func newMemcached() *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetAPIVersion("cache.example.com/v1alpha1")
	made.SetKind("Memcached")
	return made
}

func (w *world) putSetting(name, value string) {
	w.Helper()
	configMaps := w.admin.CoreV1().ConfigMaps(w.namespace)
	setting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": value, "unread": "kept"}}
	_, err := configMaps.Create(w.Context(), setting, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = configMaps.Update(w.Context(), setting, metav1.UpdateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// toldNames is an event handler that remembers what it was told.
type toldNames struct {
	mu   sync.Mutex
	told map[string]bool
}

func (h *toldNames) note(what string, object any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == nil {
		h.told = map[string]bool{}
	}
	h.told[what+" "+object.(client.Object).GetName()] = true
}

func (h *toldNames) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.told))
}

var _ toolscache.ResourceEventHandler = &toldNames{}

// OnAdd implements toolscache.ResourceEventHandler.
func (h *toldNames) OnAdd(object any, _ bool) { h.note("add", object) }

// OnUpdate implements toolscache.ResourceEventHandler.
func (h *toldNames) OnUpdate(_, object any) { h.note("update", object) }

// OnDelete implements toolscache.ResourceEventHandler.
func (h *toldNames) OnDelete(any) {}
