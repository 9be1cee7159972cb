package kindsettings

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// newSource makes what lists and watches a kind, with the clients that controller-runtime's cache has.
func (s *Settings) newSource(key Key, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error) {
	plain := rest.CopyConfig(s.Config)
	plain.NegotiatedSerializer = nil // the clients below have their own
	switch key.Flavor {
	case Unstructured:
		client, err := dynamic.NewForConfigAndClient(plain, s.HTTP)
		if err != nil {
			return nil, err
		}
		return listwatch.DynamicSource(client.Resource(mapping.Resource).Namespace(namespace)), nil
	case Metadata:
		client, err := metadata.NewForConfigAndClient(plain, s.HTTP)
		if err != nil {
			return nil, err
		}
		return listwatch.MetadataSource(client.Resource(mapping.Resource).Namespace(namespace)), nil
	}
	client, err := apiutil.RESTClientForGVK(key.GVK, false, false, s.Config, s.codecs, s.HTTP)
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
	if err := s.newRequest(opts).Do(ctx).Into(list); err != nil {
		return nil, err
	}
	return list, nil
}

// Watch implements listwatch.Source.
func (s typedSource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return s.newRequest(opts).Watch(ctx)
}

func (s typedSource) newRequest(opts metav1.ListOptions) *rest.Request {
	return s.client.Get().NamespaceIfScoped(s.namespace, s.namespace != "").Resource(s.resource).VersionedParams(&opts, s.parameters)
}

// withoutBookmarks asks for no bookmarks, but for the one that ends a first list: without it that never ends.
type withoutBookmarks struct{ listwatch.Source }

// Watch implements listwatch.Source.
func (s withoutBookmarks) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.AllowWatchBookmarks = ptr.Deref(opts.SendInitialEvents, false)
	return s.Source.Watch(ctx, opts)
}
