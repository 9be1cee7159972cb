package kindsettings

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/scopedcache/fieldtree"
)

// DefaultSyncPeriod is how often handlers are told of every object, if nothing is said.
const DefaultSyncPeriod = 10 * time.Hour

// Settings are what cache.Options and Options.Fields say of kinds, with defaults. They are safe for concurrent use, and
// never change, but for what is remembered.
type Settings struct {
	// Connect makes what lists and watches a kind in one namespace; "" is all of them, or none. It is the caller's to
	// replace before anything else is called.
	Connect func(key Key, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error)
	// HTTP and Config are what requests are made with.
	HTTP   *http.Client
	Config *rest.Config

	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	codecs     serializer.CodecFactory
	parameters runtime.ParameterCodec
	decoder    runtime.Decoder                            // of JSON to types of the scheme, without apiVersion and kind as clients have them
	fields     map[schema.GroupVersionKind]fieldtree.Tree // of the kinds that are not kept whole
	general    placeSettings                              // for what byKind does not name
	byKind     map[schema.GroupVersionKind]placeSettings
	keys       sync.Map // of reflect.Type to Key
}

// placeSettings say where and how a kind is watched.
type placeSettings struct {
	everywhere cache.Config
	namespaces map[string]cache.Config
}

// New reads options as cache.New does. kept are the fields that are kept of the kinds that are not kept whole: one that
// a Go type does not have is an error.
func New(config *rest.Config, kept map[client.Object][]string, options cache.Options) (*Settings, error) {
	s := &Settings{byKind: map[schema.GroupVersionKind]placeSettings{}}
	if err := s.setClients(config, options); err != nil {
		return nil, err
	}
	if err := s.setFields(kept); err != nil {
		return nil, err
	}
	defaults := cache.Config{
		LabelSelector: options.DefaultLabelSelector, FieldSelector: options.DefaultFieldSelector,
		Transform: options.DefaultTransform, UnsafeDisableDeepCopy: options.DefaultUnsafeDisableDeepCopy,
		EnableWatchBookmarks: options.DefaultEnableWatchBookmarks, SyncPeriod: options.SyncPeriod,
	}
	if err := s.setKinds(options, defaults); err != nil {
		return nil, err
	}
	s.general = placeSettings{everywhere: defaults, namespaces: withDefaults(options.DefaultNamespaces, defaults)}
	return s, nil
}

func (s *Settings) setFields(fields map[client.Object][]string) error {
	s.fields = make(map[schema.GroupVersionKind]fieldtree.Tree, len(fields))
	for object, paths := range fields {
		gvk, err := apiutil.GVKForObject(object, s.scheme)
		if err != nil {
			return fmt.Errorf("failed to get GVK for type %T: %w", object, err)
		}
		s.fields[gvk] = fieldtree.New(paths)
		if _, isMap := object.(runtime.Unstructured); isMap {
			continue
		}
		if err := s.fields[gvk].CheckType(reflect.TypeOf(object), gvk.Kind); err != nil {
			return err
		}
	}
	return nil
}

// setClients sets what requests are made with.
func (s *Settings) setClients(config *rest.Config, options cache.Options) (err error) {
	s.Config = rest.CopyConfig(config)
	if s.Config.UserAgent == "" {
		s.Config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if s.HTTP = options.HTTPClient; s.HTTP == nil {
		if s.HTTP, err = rest.HTTPClientFor(s.Config); err != nil {
			return fmt.Errorf("making the HTTP client of a scoped cache: %w", err)
		}
	}
	if s.scheme = options.Scheme; s.scheme == nil {
		s.scheme = scheme.Scheme
	}
	if s.mapper = options.Mapper; s.mapper == nil {
		if s.mapper, err = apiutil.NewDynamicRESTMapper(s.Config, s.HTTP); err != nil {
			return fmt.Errorf("making the mapper of a scoped cache: %w", err)
		}
	}
	s.Connect = s.newSource
	s.decoder = runtime.WithoutVersionDecoder{Decoder: json.NewSerializerWithOptions(json.DefaultMetaFactory, s.scheme, s.scheme, json.SerializerOptions{})}
	s.codecs, s.parameters = serializer.NewCodecFactory(s.scheme), runtime.NewParameterCodec(s.scheme)
	return nil
}

// setKinds sets byKind, as cache.New reads ByObject: what is given for a namespace of the object goes first,
// then what is given for the object, for the namespace, and for all.
func (s *Settings) setKinds(options cache.Options, defaults cache.Config) error {
	for object, by := range options.ByObject {
		gvk, err := apiutil.GVKForObject(object, s.scheme)
		if err != nil {
			return fmt.Errorf("failed to get GVK for type %T: %w", object, err)
		}
		namespaced, err := apiutil.IsObjectNamespaced(object, s.scheme, s.mapper)
		if err != nil {
			return fmt.Errorf("failed to determine if %T is namespaced: %w", object, err)
		}
		if !namespaced && by.Namespaces != nil {
			return fmt.Errorf("type %T is not namespaced, but its ByObject.Namespaces setting is not nil", object)
		}
		s.byKind[gvk] = s.settingsOf(by, namespaced, options.DefaultNamespaces, defaults)
	}
	return nil
}

func (s *Settings) settingsOf(by cache.ByObject, namespaced bool, defaultNamespaces map[string]cache.Config, defaults cache.Config) placeSettings {
	own := cache.Config{
		LabelSelector: by.Label, FieldSelector: by.Field, Transform: by.Transform,
		UnsafeDisableDeepCopy: by.UnsafeDisableDeepCopy, EnableWatchBookmarks: by.EnableWatchBookmarks, SyncPeriod: by.SyncPeriod,
	}
	made := placeSettings{everywhere: fillConfig(own, defaults)}
	if !namespaced {
		return made
	}
	given := by.Namespaces
	if given == nil {
		given = defaultNamespaces
	}
	filled := make(map[string]cache.Config, len(given))
	for namespace, config := range given {
		filled[namespace] = fillConfig(fillConfig(config, own), defaultNamespaces[namespace])
	}
	made.namespaces = withDefaults(filled, defaults)
	return made
}

// withDefaults returns the configurations by namespace with defaults. That of all namespaces leaves out those
// that are named.
func withDefaults(given map[string]cache.Config, defaults cache.Config) map[string]cache.Config {
	filled := make(map[string]cache.Config, len(given))
	for namespace, config := range given {
		config = fillConfig(config, defaults)
		if namespace == metav1.NamespaceAll {
			config.FieldSelector = exceptNamespaces(config.FieldSelector, slices.Sorted(maps.Keys(given)))
		}
		filled[namespace] = config
	}
	return filled
}

// exceptNamespaces returns a selector that selects nothing in some namespaces, of which "" is none.
func exceptNamespaces(selector fields.Selector, namespaces []string) fields.Selector {
	var terms []fields.Selector
	for _, namespace := range namespaces {
		if namespace != metav1.NamespaceAll {
			terms = append(terms, fields.OneTermNotEqualSelector("metadata.namespace", namespace))
		}
	}
	if selector != nil {
		terms = append(terms, selector)
	}
	return fields.AndSelectors(terms...)
}

// fillConfig returns a configuration with what it lacks from another one.
func fillConfig(config, from cache.Config) cache.Config {
	if config.Transform == nil {
		config.Transform = from.Transform
	}
	config.LabelSelector, config.FieldSelector = cmp.Or(config.LabelSelector, from.LabelSelector), cmp.Or(config.FieldSelector, from.FieldSelector)
	config.UnsafeDisableDeepCopy = cmp.Or(config.UnsafeDisableDeepCopy, from.UnsafeDisableDeepCopy)
	config.EnableWatchBookmarks = cmp.Or(config.EnableWatchBookmarks, from.EnableWatchBookmarks)
	config.SyncPeriod = cmp.Or(config.SyncPeriod, from.SyncPeriod)
	return config
}

// KeyOf returns the key of the kind of an object or a list. That of a Go type is looked up once.
func (s *Settings) KeyOf(object runtime.Object) (Key, error) {
	if FlavorOf(object) != Typed {
		return s.lookUpKey(object)
	}
	of := reflect.TypeOf(object)
	if known, ok := s.keys.Load(of); ok {
		return known.(Key), nil
	}
	key, err := s.lookUpKey(object)
	if err == nil {
		s.keys.Store(of, key)
	}
	return key, err
}

func (s *Settings) lookUpKey(object runtime.Object) (Key, error) {
	gvk, err := apiutil.GVKForObject(object, s.scheme)
	if err != nil {
		return Key{}, err
	}
	if _, isList := object.(client.ObjectList); isList {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	return Key{GVK: gvk, Flavor: FlavorOf(object)}, nil
}
