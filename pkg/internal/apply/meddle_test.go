package apply_test

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// meddled is a client in whose way something happens: before is called once, right
// before the first write; or, with patches, before the first patch.
type meddled struct {
	dynamic.Interface
	before  func()
	patches bool
}

func (m *meddled) happen() {
	if m.before != nil {
		before := m.before
		m.before = nil
		before()
	}
}

func (m *meddled) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return meddledResource{m.Interface.Resource(gvr), m}
}

type meddledResource struct {
	dynamic.NamespaceableResourceInterface
	by *meddled
}

func (r meddledResource) Namespace(namespace string) dynamic.ResourceInterface {
	return meddledObjects{r.NamespaceableResourceInterface.Namespace(namespace), r.by}
}

type meddledObjects struct {
	dynamic.ResourceInterface
	by *meddled
}

func (o meddledObjects) Create(ctx context.Context, obj *unstructured.Unstructured, options metav1.CreateOptions, sub ...string) (*unstructured.Unstructured, error) {
	if !o.by.patches {
		o.by.happen()
	}
	return o.ResourceInterface.Create(ctx, obj, options, sub...)
}

func (o meddledObjects) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, options metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	o.by.happen()
	return o.ResourceInterface.Patch(ctx, name, pt, data, options, sub...)
}

func (o meddledObjects) Delete(ctx context.Context, name string, options metav1.DeleteOptions, sub ...string) error {
	o.by.happen()
	return o.ResourceInterface.Delete(ctx, name, options, sub...)
}
