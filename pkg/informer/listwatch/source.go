package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// Source lists and watches the objects of an informer. Calls end when ctx does; a watch
// lives as long as ctx.
type Source interface {
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// DynamicSource makes a Source of whole objects.
func DynamicSource(client dynamic.ResourceInterface) Source { return dynamicSource{client} }

// MetadataSource makes a Source of the metadata of objects.
func MetadataSource(client metadata.ResourceInterface) Source { return metadataSource{client} }

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
