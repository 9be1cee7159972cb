package scopedcache

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/scopedcache/kindregistry"
	"github.com/ambit-dev/ambit/pkg/scopedcache/objectread"
	"github.com/ambit-dev/ambit/pkg/scopedcache/readlog"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
)

// Owner is an object that is reconciled: its namespace and name, and in Kind, which tells owners of several controllers
// apart and may be empty, its schema.GroupKind.
type Owner = readlog.Owner

// Handle reads for one owner. What is read through it is watched as long as it is open: the kind, in the
// namespace that was read or in all of them, and Source enqueues the owner when something of it has changed. Handles
// share streams, with each other and with the cache; the last one that needs a stream ends it. It is safe for
// concurrent use.
type Handle struct {
	cache  *Cache
	holder kindregistry.Holder
}

var _ client.Reader = &Handle{}

// Close gives back all that the handle needs. Reads fail afterwards. It may be called more than once.
func (h *Handle) Close() {
	c, owner := h.cache, h.holder.Owner
	c.mu.Lock()
	if c.handles[owner] == h {
		delete(c.handles, owner)
	}
	c.mu.Unlock()
	c.registry.CloseHolder(&h.holder)
}

var errContinue = errors.New("continue list option is not supported by the cache")

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
	k, err := h.kindToRead(ctx, out, &key.Namespace)
	if err != nil {
		return err
	}
	if !k.IsNamespaced() {
		key.Namespace = ""
	}
	k.RecordName(&h.holder.Reader, key)
	s, err := h.streamToRead(ctx, k, key.Namespace)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
	}
	indexer, err := h.cache.objectsOf(ctx, s)
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
		return apierrors.NewNotFound(schema.GroupResource{Group: k.GVK.Group, Resource: k.GVK.Kind}, key.Name)
	}
	given := client.GetOptions{}
	given.ApplyOptions(options)
	return objectread.CopyInto(out, object, k.GVK, isShared(s, given.UnsafeDisableDeepCopy))
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
	k, err := h.kindToRead(ctx, out, namespace)
	if err != nil {
		return err
	}
	if given.Continue != "" {
		return errContinue
	}
	k.RecordList(&h.holder.Reader, given)
	streams, err := h.streamsToList(ctx, k, namespace)
	if err != nil {
		return err
	}
	var denied error
	readable := 0
	objects := []runtime.Object{}
	for _, s := range streams {
		found, err := h.cache.listOf(ctx, s, given, len(objects))
		switch {
		case isDenied(err):
			if denied == nil && !(s.IsReviewed && namespace == nil) {
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
	if h.cache.own.AllowPartial && readable > 0 {
		return nil
	}
	return denied
}

func isDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}

// streamsToList returns the streams of a namespace, or all.
func (h *Handle) streamsToList(ctx context.Context, k *streamstore.Store, namespace *string) ([]*streamstore.Stream, error) {
	if namespace == nil || !k.IsNamespaced() {
		if err := k.WaitPlanned(ctx); err != nil {
			return nil, err
		}
		streams := h.cache.registry.SettledStreams(k)
		if denial := h.cache.namespacesDenied(); len(streams) == 0 && denial != nil {
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
	return []*streamstore.Stream{s}, nil
}

// kindToRead returns the kind of an object or a list, which is watched from now on, in one namespace or, if
// that is nil, in all. A context that has ended goes before objects that nobody has watched yet: they may be there at any moment.
func (h *Handle) kindToRead(ctx context.Context, object runtime.Object, namespace *string) (*streamstore.Store, error) {
	c := h.cache
	key, err := c.settings.KeyOf(object)
	if err != nil {
		return nil, err
	}
	hasEnded := ctx.Err() != nil
	isFirst := (hasEnded || c.options.ReaderFailOnMissingInformer) && c.registry.StoreOf(key) == nil
	if c.options.ReaderFailOnMissingInformer && isFirst {
		return nil, &cache.ErrResourceNotCached{GVK: key.GVK}
	}
	k, err := c.registry.RequireKind(&h.holder, key, namespace)
	if err != nil {
		return nil, err
	}
	if !c.hasStarted() {
		return nil, &cache.ErrCacheNotStarted{}
	}
	if isFirst && hasEnded {
		return nil, k.SyncTimeout()
	}
	return k, nil
}

// streamToRead returns the stream that has a namespace, or nil if that is none of the cache's.
func (h *Handle) streamToRead(ctx context.Context, k *streamstore.Store, namespace string) (*streamstore.Stream, error) {
	if s := k.StreamOf(namespace); s != nil {
		return s, nil
	}
	if err := k.WaitPlanned(ctx); err != nil {
		return nil, err
	}
	s := k.StreamOf(namespace)
	if s == nil {
		return nil, h.cache.namespacesDenied()
	}
	return s, nil
}

// listOf returns the objects of a list from one stream. have is how many there are already: a limit is for all streams.
func (c *parts) listOf(ctx context.Context, s *streamstore.Stream, given client.ListOptions, have int) ([]runtime.Object, error) {
	indexer, err := c.objectsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return objectread.ListObjects(indexer, given, s.Kind.GVK, have, isShared(s, given.UnsafeDisableDeepCopy))
}

// isShared reports whether objects are handed out without a copy.
func isShared(s *streamstore.Stream, asked *bool) bool {
	return ptr.Deref(s.Config.UnsafeDisableDeepCopy, false) || ptr.Deref(asked, false)
}
