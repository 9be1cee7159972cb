package scopedcache

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestMissing: a definition that is deleted frees the store, and one that comes back is watched again.
func TestMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	definition, err := os.ReadFile("../../examples/memcached/crd.yaml")
	w.must(err)
	w.must(w.cluster.Apply(w.ctx, definition))
	made, err := New(Options{})(w.cluster.Admin(), cache.Options{})
	w.must(err)
	w.cache = made.(*Cache)
	w.start()
	namespace := w.namespace()
	key := client.ObjectKey{Namespace: namespace, Name: "cache"}
	read := func() error {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(schema.GroupVersionKind{Group: "cache.example.com", Version: "v1alpha1", Kind: "Memcached"})
		return w.cache.Get(w.ctx, key, found)
	}
	objects := dynamic.NewForConfigOrDie(w.cluster.Admin())
	create := func() {
		owner := object("cache.example.com/v1alpha1", "Memcached", "cache")
		owner.Object["spec"] = map[string]any{"size": int64(1)}
		resource := schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}
		w.until("it can be made", func() bool {
			_, err := objects.Resource(resource).Namespace(namespace).Create(w.ctx, owner, metav1.CreateOptions{})
			return err == nil
		})
	}
	create()
	w.until("it is there", func() bool { return read() == nil })
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	w.must(objects.Resource(definitions).Delete(w.ctx, "memcacheds.cache.example.com", metav1.DeleteOptions{}))
	w.until("the kind is missing", func() bool { return meta.IsNoMatchError(read()) })
	if !w.cache.WaitForCacheSync(w.ctx) {
		t.Error("a missing kind holds up the cache")
	}
	w.must(w.cluster.Apply(w.ctx, definition))
	create()
	w.until("it is there again", func() bool { return read() == nil })
}
