package informer

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// source is where a stream's objects come from. Calls end when ctx does; a watch
// lives as long as ctx.
type source interface {
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// connect makes the source of a key from the clients of its identity.
func connect(clients func(string) (dynamic.Interface, metadata.Interface, error), key Key) (source, error) {
	objects, meta, err := clients(key.Identity)
	if err != nil {
		return nil, fmt.Errorf("making clients for %q: %w", key.Identity, err)
	}
	if key.Form.Metadata {
		return metadataSource{meta.Resource(key.GVR).Namespace(key.Namespace)}, nil
	}
	return dynamicSource{objects.Resource(key.GVR).Namespace(key.Namespace)}, nil
}

type dynamicSource struct{ dynamic.ResourceInterface }

func (s dynamicSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.ResourceInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list, nil
}

type metadataSource struct{ metadata.ResourceInterface }

func (s metadataSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.ResourceInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list, nil
}
