package scopedcache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	errContinue = errors.New("continue list option is not supported by the cache")
	errExact    = errors.New("non-exact field matches are not supported by the cache")
)

// whileMoving reads, and reads again if a stream was ended meanwhile: another one has its namespace, or none.
func whileMoving(read func() error) error {
	for {
		if err := read(); !errors.Is(err, errLeft) {
			return err
		}
	}
}

// Get implements client.Reader.
func (h *Handle) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return whileMoving(func() error { return h.getOnce(ctx, key, object, options) })
}

func (h *Handle) getOnce(ctx context.Context, key client.ObjectKey, out client.Object, options []client.GetOption) error {
	k, err := h.kindToRead(out, &key.Namespace)
	if err != nil {
		return err
	}
	if !k.isNamespaced() {
		key.Namespace = ""
	}
	k.recordName(h, key)
	s, err := h.streamToRead(ctx, k, key.Namespace)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
	}
	indexer, err := s.awaitObjects(ctx)
	if err != nil {
		return err
	}
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + key.Name
	}
	object, exists, err := indexer.GetByKey(name)
	switch {
	case err != nil:
		return err
	case !exists:
		// As controller-runtime does, this has the kind where the resource would be.
		return apierrors.NewNotFound(schema.GroupResource{Group: k.key.GVK.Group, Resource: k.key.GVK.Kind}, key.Name)
	}
	return s.copyInto(out, object, options)
}

// copyInto writes a stored object to out.
func (s *stream) copyInto(out client.Object, stored any, options []client.GetOption) error {
	object, ok := stored.(runtime.Object)
	if !ok {
		return fmt.Errorf("cache contained %T, which is not an Object", stored)
	}
	given := client.GetOptions{}
	given.ApplyOptions(options)
	shared := s.isShared(given.UnsafeDisableDeepCopy)
	if !shared {
		object = object.DeepCopyObject()
	}
	to, from := reflect.ValueOf(out), reflect.ValueOf(object)
	if !from.Type().AssignableTo(to.Type()) {
		return fmt.Errorf("cache had type %s, but %s was asked for", from.Type(), to.Type())
	}
	reflect.Indirect(to).Set(reflect.Indirect(from))
	if !shared {
		out.GetObjectKind().SetGroupVersionKind(s.kind.key.GVK)
	}
	return nil
}

// isShared reports whether objects are handed out without a copy.
func (s *stream) isShared(asked *bool) bool {
	return ptr.Deref(s.config.UnsafeDisableDeepCopy, false) || ptr.Deref(asked, false)
}

// List implements client.Reader.
func (h *Handle) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	given := client.ListOptions{}
	given.ApplyOptions(options)
	return whileMoving(func() error { return h.listOnce(ctx, list, given) })
}

func (h *Handle) listOnce(ctx context.Context, out client.ObjectList, given client.ListOptions) error {
	namespace := &given.Namespace
	if given.Namespace == "" {
		namespace = nil
	}
	k, err := h.kindToRead(out, namespace)
	if err != nil {
		return err
	}
	if given.Continue != "" {
		return errContinue
	}
	k.recordList(h, given)
	streams, err := h.streamsToList(ctx, k, namespace)
	if err != nil {
		return err
	}
	var denied error
	readable := 0
	objects := []runtime.Object{}
	for _, s := range streams {
		found, err := s.listObjects(ctx, given, len(objects))
		switch {
		case isDenied(err):
			if denied == nil && !(s.reviewed && namespace == nil) {
				denied = err
			}
		case err != nil:
			return err
		default:
			readable++
		}
		objects = append(objects, found...)
	}
	if err := meta.SetList(out, objects); err != nil {
		return err
	}
	out.SetContinue("continue-not-supported")
	if h.engine.settings.own.AllowPartial && readable > 0 {
		return nil
	}
	return denied
}

func isDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}

// streamsToList returns the streams of a namespace, or all.
func (h *Handle) streamsToList(ctx context.Context, k *kind, namespace *string) ([]*stream, error) {
	if namespace == nil || !k.isNamespaced() {
		if err := k.waitPlanned(ctx); err != nil {
			return nil, err
		}
		streams := h.engine.settledStreams(k)
		if denial := h.engine.namespaces.denial(); len(streams) == 0 && denial != nil {
			return nil, denial
		}
		return streams, nil
	}
	s, err := h.streamToRead(ctx, k, *namespace)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("unable to list: %v because of unknown namespace for the cache", *namespace)
	}
	return []*stream{s}, nil
}

// settledStreams returns all streams of a kind, and not some of those that are being replaced.
func (e *engine) settledStreams(k *kind) []*stream {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return k.allStreams()
}

// kindToRead returns the kind of an object or a list, which is watched from now on, in one namespace or, if
// that is nil, in all.
func (h *Handle) kindToRead(object runtime.Object, namespace *string) (*kind, error) {
	e := h.engine
	key, err := e.settings.keyOf(object)
	if err != nil {
		return nil, err
	}
	if e.settings.mustExist && e.kindOf(key) == nil {
		return nil, &cache.ErrResourceNotCached{GVK: key.GVK}
	}
	k, err := e.requireKind(h, key, namespace)
	if err != nil {
		return nil, err
	}
	if !isClosed(e.started) {
		return nil, &cache.ErrCacheNotStarted{}
	}
	return k, nil
}

// streamToRead returns the stream that has a namespace, or nil if that is none of the cache's.
func (h *Handle) streamToRead(ctx context.Context, k *kind, namespace string) (*stream, error) {
	if s := k.streamOf(namespace); s != nil {
		return s, nil
	}
	if err := k.waitPlanned(ctx); err != nil {
		return nil, err
	}
	s := k.streamOf(namespace)
	if s == nil {
		return nil, h.engine.namespaces.denial()
	}
	return s, nil
}

// listObjects returns the objects of a list. have is how many there are already: a limit is for all streams.
func (s *stream) listObjects(ctx context.Context, given client.ListOptions, have int) ([]runtime.Object, error) {
	indexer, err := s.awaitObjects(ctx)
	if err != nil {
		return nil, err
	}
	found, err := selectObjects(indexer, given)
	if err != nil {
		return nil, err
	}
	shared := s.isShared(given.UnsafeDisableDeepCopy)
	objects := make([]runtime.Object, 0, len(found))
	for _, item := range found {
		if given.Limit > 0 && int64(have+len(objects)) >= given.Limit {
			break
		}
		object, ok := item.(client.Object)
		if !ok {
			return nil, fmt.Errorf("cache contained %T, which is not an Object", item)
		}
		if given.LabelSelector != nil && !given.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if shared {
			objects = append(objects, object)
			continue
		}
		copied := object.DeepCopyObject()
		copied.GetObjectKind().SetGroupVersionKind(s.kind.key.GVK)
		objects = append(objects, copied)
	}
	return objects, nil
}

// selectObjects returns the objects of a namespace, or of the values of fields that have an index.
func selectObjects(indexer toolscache.Indexer, given client.ListOptions) ([]any, error) {
	switch {
	case given.FieldSelector != nil:
		if !isExact(given.FieldSelector) {
			return nil, errExact
		}
		return selectFields(indexer, given.FieldSelector.Requirements(), given.Namespace)
	case given.Namespace != "":
		return indexer.ByIndex(toolscache.NamespaceIndex, given.Namespace)
	}
	return indexer.List(), nil
}

func isExact(selector fields.Selector) bool {
	terms := selector.Requirements()
	for _, term := range terms {
		if term.Operator != selection.Equals && term.Operator != selection.DoubleEquals {
			return false
		}
	}
	return len(terms) > 0
}

// selectFields looks the first field up, and compares the others.
func selectFields(indexer toolscache.Indexer, terms fields.Requirements, namespace string) ([]any, error) {
	found, err := indexer.ByIndex(fieldIndex(terms[0].Field), indexValue(namespace, terms[0].Value))
	if err != nil {
		return nil, err
	}
	indexers := indexer.GetIndexers()
	for _, term := range terms[1:] {
		if len(found) == 0 {
			break
		}
		valuesOf, ok := indexers[fieldIndex(term.Field)]
		if !ok {
			return nil, fmt.Errorf("index with name %s does not exist", fieldIndex(term.Field))
		}
		var selected []any
		for _, object := range found {
			values, err := valuesOf(object)
			if err != nil {
				return nil, err
			}
			if slices.Contains(values, indexValue(namespace, term.Value)) {
				selected = append(selected, object)
			}
		}
		found = selected
	}
	return found, nil
}

// fieldIndex is the name of the index of a field, and indexValue what an object with a value has there. They are as
// in controller-runtime, for those who add such an index by AddIndexers.
func fieldIndex(field string) string { return "field:" + field }

func indexValue(namespace, value string) string {
	if namespace == "" {
		namespace = "__all_namespaces"
	}
	return namespace + "/" + value
}

// newFieldIndex returns the index of a field: each value is there in the object's namespace, and in all.
func newFieldIndex(valuesOf client.IndexerFunc) toolscache.IndexFunc {
	return func(item any) ([]string, error) {
		object, ok := item.(client.Object)
		if !ok {
			return nil, fmt.Errorf("object of type %T is not an Object", item)
		}
		values := valuesOf(object)
		indexed := make([]string, 0, 2*len(values))
		for _, value := range values {
			indexed = append(indexed, indexValue(object.GetNamespace(), value))
			if object.GetNamespace() != "" {
				indexed = append(indexed, indexValue("", value))
			}
		}
		return indexed, nil
	}
}
