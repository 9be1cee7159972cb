package scopedcache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestTwin draws options, and compares the answers and the events of a cache with those of cache.New, as somebody who
// may read everything.
func TestTwin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	namespaces := []string{w.namespace(), w.namespace(), w.namespace()}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 14))
			label := fmt.Sprint("twin-", seed)
			options := drawOptions(random, namespaces, label)
			ours, theirs := newTwin(t, w, New(Options{}), options), newTwin(t, w, cache.New, options)
			example := drawExample(random)
			ours.follow(example)
			theirs.follow(example)
			for i := range 12 {
				w.writeTwin(t, random, namespaces[i%3], label)
			}
			var diff string
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
				diff = cmp.Diff(theirs.seen(example, namespaces, label), ours.seen(example, namespaces, label))
				return diff == "", nil
			})
			if err != nil {
				t.Errorf("options %+v, %T: %v (-cache.New +scopedcache.New):\n%s", options, example, err, diff)
			}
		})
	}
}

// drawOptions draws options of which cache.New understands all.
func drawOptions(random *rand.Rand, namespaces []string, label string) cache.Options {
	options := cache.Options{DefaultUnsafeDisableDeepCopy: ptr.To(random.IntN(2) == 0)}
	mine := labels.SelectorFromSet(labels.Set{"twin": label})
	options.DefaultLabelSelector = mine
	if random.IntN(2) == 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range namespaces[:1+random.IntN(3)] {
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
		if random.IntN(2) == 0 {
			options.DefaultNamespaces[cache.AllNamespaces] = cache.Config{LabelSelector: labels.SelectorFromSet(labels.Set{"twin": label, "half": "1"})}
		}
	}
	if random.IntN(2) == 0 {
		options.DefaultTransform = cache.TransformStripManagedFields()
	}
	if random.IntN(2) == 0 {
		by := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.namespace", namespaces[random.IntN(3)])}
		if random.IntN(2) == 0 {
			by = cache.ByObject{Namespaces: map[string]cache.Config{namespaces[random.IntN(3)]: {}}}
		}
		options.ByObject = map[client.Object]cache.ByObject{&corev1.ConfigMap{}: by}
	}
	return options
}

func drawExample(random *rand.Rand) client.Object {
	switch random.IntN(3) {
	case 0:
		return newConfigMap()
	case 1:
		partial := &metav1.PartialObjectMetadata{}
		partial.SetGroupVersionKind(configMapKind)
		return partial
	}
	return &corev1.ConfigMap{}
}

// twin is one of two caches, and what its handler was told.
type twin struct {
	*testing.T
	cache cache.Cache

	mu     sync.Mutex // guards events
	events map[string][]string
}

func newTwin(t *testing.T, w *world, newCache cache.NewCacheFunc, options cache.Options) *twin {
	t.Helper()
	made, err := newCache(w.cluster.Admin(), options)
	w.must(err)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := made.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return &twin{T: t, cache: made, events: map[string][]string{}}
}

// follow begins to watch.
func (w *twin) follow(example client.Object) {
	w.Helper()
	i, err := w.cache.GetInformer(w.Context(), example)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.cache.IndexField(w.Context(), example, "data", func(o client.Object) []string { return []string{o.GetAnnotations()["data"]} }); err != nil {
		w.Fatal(err)
	}
	if _, err := i.AddEventHandler(w); err != nil || !w.cache.WaitForCacheSync(w.Context()) {
		w.Fatal("it does not sync", err)
	}
}

func (w *twin) record(what string, object any) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		w.Error(err)
		return
	}
	name := accessor.GetNamespace() + "/" + accessor.GetName()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events[name] = append(w.events[name], fmt.Sprintf("%s %T at %s", what, object, accessor.GetResourceVersion()))
}

// OnAdd implements toolscache.ResourceEventHandler.
func (w *twin) OnAdd(object any, initial bool) { w.record(fmt.Sprint("add ", initial), object) }

// OnUpdate implements toolscache.ResourceEventHandler.
func (w *twin) OnUpdate(_, object any) { w.record("update", object) }

// OnDelete implements toolscache.ResourceEventHandler.
func (w *twin) OnDelete(object any) { w.record("delete", object) }

func (w *twin) take() map[string][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	copied := map[string][]string{}
	for name, events := range w.events {
		copied[name] = slices.Clone(events)
	}
	return copied
}

// seen returns the events and some lists as text.
func (w *twin) seen(example client.Object, namespaces []string, label string) map[string][]string {
	seen := w.take()
	for i, given := range [][]client.ListOption{
		nil, {client.InNamespace(namespaces[0])}, {client.MatchingLabels{"twin": label}}, {client.InNamespace(namespaces[1]), client.MatchingLabels{"half": "1"}},
		{client.MatchingFields{"data": "1"}}, {client.InNamespace(namespaces[0]), client.MatchingFields{"data": "1"}},
	} {
		seen[fmt.Sprint("list ", i)] = w.list(example, given)
	}
	return seen
}

// list returns a list as text.
func (w *twin) list(example client.Object, options []client.ListOption) (found []string) {
	var list client.ObjectList = &corev1.ConfigMapList{}
	switch example.(type) {
	case *unstructured.Unstructured:
		list = &unstructured.UnstructuredList{}
	case *metav1.PartialObjectMetadata:
		list = &metav1.PartialObjectMetadataList{}
	}
	if _, isTyped := list.(*corev1.ConfigMapList); !isTyped {
		list.GetObjectKind().SetGroupVersionKind(configMapKind.GroupVersion().WithKind("ConfigMapList"))
	}
	if err := w.cache.List(w.Context(), list, options...); err != nil {
		return []string{err.Error()}
	}
	err := meta.EachListItem(list, func(object runtime.Object) error {
		found = append(found, fmt.Sprintf("%T %+v", object, object))
		return nil
	})
	if err != nil {
		w.Error(err)
	}
	slices.Sort(found)
	return found
}

// writeTwin creates, changes or deletes one of a few objects.
func (w *world) writeTwin(t *testing.T, random *rand.Rand, namespace, label string) {
	t.Helper()
	configMaps, name := w.admin.CoreV1().ConfigMaps(namespace), fmt.Sprint(label, "-", random.IntN(2))
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"twin": label, "half": fmt.Sprint(random.IntN(2))}, Annotations: map[string]string{"data": fmt.Sprint(random.IntN(2))},
	}}
	_, err := configMaps.Create(t.Context(), wanted, metav1.CreateOptions{})
	switch {
	case err == nil:
		return
	case !strings.Contains(err.Error(), "already exists"):
		t.Fatal(err)
	case random.IntN(4) == 0:
		err = configMaps.Delete(t.Context(), name, metav1.DeleteOptions{})
	default:
		_, err = configMaps.Update(t.Context(), wanted, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
