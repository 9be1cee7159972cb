package scopedcache

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// flavor is as what Go type objects are kept.
type flavor string

const (
	typed            flavor = "typed"
	unstructuredOnly flavor = "unstructured"
	metadataOnly     flavor = "metadata"
)

func flavorOf(object runtime.Object) flavor {
	switch object.(type) {
	case runtime.Unstructured:
		return unstructuredOnly
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return metadataOnly
	}
	return typed
}

func trimList(kind string) string { return strings.TrimSuffix(kind, "List") }

// kindKey is a kind in one flavor: what is of one is kept together.
type kindKey struct {
	GVK    schema.GroupVersionKind
	flavor flavor
}

// newObject returns an empty object of the kind. The error is the scheme's, which may not know it.
func (k kindKey) newObject(s *settings) (runtime.Object, error) {
	switch k.flavor {
	case unstructuredOnly:
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(k.GVK)
		return object, nil
	case metadataOnly:
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(k.GVK)
		return object, nil
	}
	return s.scheme.New(k.GVK)
}

// newSource makes what lists and watches a kind, with the clients that controller-runtime's cache has.
func (s *settings) newSource(key kindKey, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error) {
	plain := rest.CopyConfig(s.config)
	plain.NegotiatedSerializer = nil // the clients below have their own
	switch key.flavor {
	case unstructuredOnly:
		client, err := dynamic.NewForConfigAndClient(plain, s.http)
		if err != nil {
			return nil, err
		}
		return listwatch.DynamicSource(client.Resource(mapping.Resource).Namespace(namespace)), nil
	case metadataOnly:
		client, err := metadata.NewForConfigAndClient(plain, s.http)
		if err != nil {
			return nil, err
		}
		return listwatch.MetadataSource(client.Resource(mapping.Resource).Namespace(namespace)), nil
	}
	client, err := apiutil.RESTClientForGVK(key.GVK, false, false, s.config, s.codecs, s.http)
	if err != nil {
		return nil, err
	}
	list, err := s.scheme.New(key.GVK.GroupVersion().WithKind(key.GVK.Kind + "List"))
	if err != nil {
		return nil, err
	}
	return typedSource{client, s.parameters, mapping.Resource.Resource, namespace, list}, nil
}

// typedSource decodes objects to the types of a scheme.
type typedSource struct {
	client              rest.Interface
	parameters          runtime.ParameterCodec
	resource, namespace string
	list                runtime.Object // empty
}

// List implements listwatch.Source.
func (s typedSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list := s.list.DeepCopyObject()
	if err := s.request(opts).Do(ctx).Into(list); err != nil {
		return nil, err
	}
	return list, nil
}

// Watch implements listwatch.Source.
func (s typedSource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return s.request(opts).Watch(ctx)
}

func (s typedSource) request(opts metav1.ListOptions) *rest.Request {
	return s.client.Get().NamespaceIfScoped(s.namespace, s.namespace != "").Resource(s.resource).VersionedParams(&opts, s.parameters)
}

// withoutBookmarks asks for no bookmarks, but for the one that ends a first list: without it that never ends.
type withoutBookmarks struct{ listwatch.Source }

// Watch implements listwatch.Source.
func (s withoutBookmarks) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.AllowWatchBookmarks = ptr.Deref(opts.SendInitialEvents, false)
	return s.Source.Watch(ctx, opts)
}
