// Package kindsettings says of a kind what is watched of it, and how: where, with which selectors, as objects of which Go
// type, and what is kept of each. It reads cache.Options as controller-runtime's cache does, and knows nothing of rights.
package kindsettings

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/scopedcache/fieldtree"
)

// Flavor is as what Go type objects are kept.
type Flavor string

// The flavors: types of the scheme, maps, and metadata alone.
const (
	Typed        Flavor = "typed"
	Unstructured Flavor = "unstructured"
	Metadata     Flavor = "metadata"
)

// FlavorOf returns the flavor of an object or a list.
func FlavorOf(object runtime.Object) Flavor {
	switch object.(type) {
	case runtime.Unstructured:
		return Unstructured
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return Metadata
	}
	return Typed
}

// Key is a kind in one flavor: what is of one is kept together.
type Key struct {
	GVK    schema.GroupVersionKind
	Flavor Flavor
}

// String names the key to package informer.
func (k Key) String() string { return string(k.Flavor) + " " + k.GVK.String() }

// Kind is what is to be known of one kind. It never changes.
type Kind struct {
	Key
	Mapping *meta.RESTMapping
	Example runtime.Object // empty
	// Everywhere is how it is watched where nothing is said of a namespace.
	Everywhere cache.Config
	// Namespaces are where to watch a kind that has namespaces, unless it is empty. The key "" is all that
	// are not named.
	Namespaces map[string]cache.Config

	settings  *Settings
	kept      fieldtree.Tree
	isPartial bool // only what is kept is there
}

// NewKind looks a kind up. It may ask the API server. The error is that of the mapper or of the scheme, which may not
// know it.
func (s *Settings) NewKind(key Key) (*Kind, error) {
	mapping, err := s.mapper.RESTMapping(key.GVK.GroupKind(), key.GVK.Version)
	if err != nil {
		return nil, err
	}
	example, err := s.newObject(key)
	if err != nil {
		return nil, err
	}
	places, ok := s.byKind[key.GVK]
	if !ok {
		places = s.general
	}
	k := &Kind{Key: key, Mapping: mapping, Example: example, Everywhere: places.everywhere, Namespaces: places.namespaces, settings: s}
	k.kept, k.isPartial = s.fields[key.GVK]
	_, err = s.Connect(key, mapping, "") // a kind that cannot be decoded is an error now
	return k, err
}

func (s *Settings) newObject(key Key) (runtime.Object, error) {
	switch key.Flavor {
	case Unstructured:
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(key.GVK)
		return object, nil
	case Metadata:
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(key.GVK)
		return object, nil
	}
	return s.scheme.New(key.GVK)
}

// Scheme is what Go types are looked up in.
func (s *Settings) Scheme() *runtime.Scheme { return s.scheme }

// IsKeptWhole reports whether a subresource of a kind, or with "" all of it, is kept as it is. A subresource is taken to
// be the field of its name.
func (s *Settings) IsKeptWhole(gvk schema.GroupVersionKind, subresource string) bool {
	kept, some := s.fields[gvk]
	below, ok := kept[subresource]
	return !some || ok && len(below) == 0
}

// IsNamespaced reports whether its objects are in namespaces.
func (k *Kind) IsNamespaced() bool { return k.Mapping.Scope.Name() == meta.RESTScopeNameNamespace }

// MakeSource makes what lists and watches the kind in a namespace, or in all.
func (k *Kind) MakeSource(namespace string, config cache.Config) (listwatch.Source, error) {
	made, err := k.settings.Connect(k.Key, k.Mapping, namespace)
	if err != nil || ptr.Deref(config.EnableWatchBookmarks, true) {
		return made, err
	}
	return withoutBookmarks{made}, nil
}

// DecodeObject makes an object of JSON, as Source gives it.
func (k *Kind) DecodeObject(data []byte) (runtime.Object, error) {
	if k.Flavor == Unstructured {
		object := &unstructured.Unstructured{}
		return object, object.UnmarshalJSON(data)
	}
	object, _, err := k.settings.decoder.Decode(data, nil, nil)
	return object, err
}

// Transformer returns what makes of an object what is kept of it; nil if that is all.
func (k *Kind) Transformer(config cache.Config) toolscache.TransformFunc {
	if k.Flavor != Metadata && !k.isPartial {
		return config.Transform
	}
	return func(object any) (_ any, err error) {
		if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
			partial.SetGroupVersionKind(k.GVK) // the API server does not say it
		}
		if config.Transform != nil {
			if object, err = config.Transform(object); err != nil {
				return nil, err
			}
		}
		if k.isPartial {
			k.kept.PruneObject(object)
		}
		return object, nil
	}
}
