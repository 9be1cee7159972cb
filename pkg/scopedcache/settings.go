package scopedcache

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/scopedcache/fieldtree"
)

// defaultSyncPeriod and defaultWriteTimeout are what zero means.
const (
	defaultSyncPeriod   = 10 * time.Hour
	defaultWriteTimeout = 10 * time.Second
)

// settings are what a cache was made with, with defaults. They never change, but for what is
// remembered.
type settings struct {
	own        Options
	config     *rest.Config
	http       *http.Client
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	codecs     serializer.CodecFactory
	parameters runtime.ParameterCodec
	onError    toolscache.WatchErrorHandlerWithContext
	// connect makes what lists and watches a kind in one namespace; "" is all of them, or none.
	connect func(key kindKey, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error)
	// mustExist: reads start no informer.
	mustExist bool
	// fields are what is kept of the kinds that are not kept whole.
	fields map[schema.GroupVersionKind]fieldtree.Tree
	// general is for what byKind does not name.
	general kindSettings
	byKind  map[schema.GroupVersionKind]kindSettings
	keys    sync.Map // of reflect.Type to kindKey
}

// kindSettings are the part of settings that is about one kind.
type kindSettings struct {
	// everywhere is for kinds without namespaces, and for those that are watched where Options.Namespaces
	// says.
	everywhere cache.Config
	// namespaces are where to watch a kind that has namespaces, unless it is empty. The key "" is all that
	// are not named.
	namespaces map[string]cache.Config
}

func newSettings(config *rest.Config, own Options, options cache.Options) (*settings, error) {
	switch {
	case options.NewInformer != nil:
		return nil, errors.New("making a scoped cache: NewInformer is not supported: its informers are those of Ambit")
	case own.Namespaces.rule != asConfigured && len(options.DefaultNamespaces) > 0:
		return nil, errors.New("making a scoped cache: both DefaultNamespaces and Namespaces are given")
	}
	if err := checkNames(own.Namespaces.names); err != nil {
		return nil, err
	}
	s := &settings{own: own, byKind: map[schema.GroupVersionKind]kindSettings{}, onError: options.DefaultWatchErrorHandler, mustExist: options.ReaderFailOnMissingInformer}
	if s.own.WriteTimeout == 0 {
		s.own.WriteTimeout = defaultWriteTimeout
	}
	if err := s.setClients(config, options); err != nil {
		return nil, err
	}
	if err := s.setFields(own.Fields); err != nil {
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
	s.general = kindSettings{everywhere: defaults, namespaces: withDefaults(options.DefaultNamespaces, defaults)}
	return s, nil
}

// setFields reads Options.Fields. A field that a Go type does not have is an error.
func (s *settings) setFields(fields map[client.Object][]string) error {
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
		if err := s.fields[gvk].Check(reflect.TypeOf(object), gvk.Kind); err != nil {
			return err
		}
	}
	return nil
}

// setClients sets what requests are made with.
func (s *settings) setClients(config *rest.Config, options cache.Options) (err error) {
	s.config = rest.CopyConfig(config)
	if s.config.UserAgent == "" {
		s.config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if s.http = options.HTTPClient; s.http == nil {
		if s.http, err = rest.HTTPClientFor(s.config); err != nil {
			return fmt.Errorf("making the HTTP client of a scoped cache: %w", err)
		}
	}
	if s.scheme = options.Scheme; s.scheme == nil {
		s.scheme = scheme.Scheme
	}
	if s.mapper = options.Mapper; s.mapper == nil {
		if s.mapper, err = apiutil.NewDynamicRESTMapper(s.config, s.http); err != nil {
			return fmt.Errorf("making the mapper of a scoped cache: %w", err)
		}
	}
	s.connect = s.newSource
	s.codecs, s.parameters = serializer.NewCodecFactory(s.scheme), runtime.NewParameterCodec(s.scheme)
	return nil
}

// setKinds sets byKind, as cache.New reads ByObject: what is given for a namespace of the object goes first,
// then what is given for the object, for the namespace, and for all.
func (s *settings) setKinds(options cache.Options, defaults cache.Config) error {
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

func (s *settings) settingsOf(by cache.ByObject, namespaced bool, defaultNamespaces map[string]cache.Config, defaults cache.Config) kindSettings {
	own := cache.Config{
		LabelSelector: by.Label, FieldSelector: by.Field, Transform: by.Transform,
		UnsafeDisableDeepCopy: by.UnsafeDisableDeepCopy, EnableWatchBookmarks: by.EnableWatchBookmarks, SyncPeriod: by.SyncPeriod,
	}
	made := kindSettings{everywhere: fillConfig(own, defaults)}
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
	if config.LabelSelector == nil {
		config.LabelSelector = from.LabelSelector
	}
	if config.FieldSelector == nil {
		config.FieldSelector = from.FieldSelector
	}
	if config.Transform == nil {
		config.Transform = from.Transform
	}
	if config.UnsafeDisableDeepCopy == nil {
		config.UnsafeDisableDeepCopy = from.UnsafeDisableDeepCopy
	}
	if config.EnableWatchBookmarks == nil {
		config.EnableWatchBookmarks = from.EnableWatchBookmarks
	}
	if config.SyncPeriod == nil {
		config.SyncPeriod = from.SyncPeriod
	}
	return config
}

// kindSettings returns the settings of a kind.
func (s *settings) kindSettings(gvk schema.GroupVersionKind) kindSettings {
	if made, ok := s.byKind[gvk]; ok {
		return made
	}
	return s.general
}

// keyOf returns the key of the kind of an object or a list. That of a Go type is looked up once.
func (s *settings) keyOf(object runtime.Object) (kindKey, error) {
	if flavorOf(object) != typed {
		return s.lookUpKey(object)
	}
	of := reflect.TypeOf(object)
	if known, ok := s.keys.Load(of); ok {
		return known.(kindKey), nil
	}
	key, err := s.lookUpKey(object)
	if err == nil {
		s.keys.Store(of, key)
	}
	return key, err
}

func (s *settings) lookUpKey(object runtime.Object) (kindKey, error) {
	gvk, err := apiutil.GVKForObject(object, s.scheme)
	if err != nil {
		return kindKey{}, err
	}
	if _, isList := object.(client.ObjectList); isList {
		gvk.Kind = trimList(gvk.Kind)
	}
	return kindKey{GVK: gvk, flavor: flavorOf(object)}, nil
}
