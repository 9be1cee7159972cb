package scopedcache

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
	"github.com/ambit-dev/ambit/pkg/scopedcache/waitingclient"
)

// ErrNotShown is what a write fails with that was accepted by the API server, and that the cache has not shown in
// Options.WriteTimeout or before the context has ended.
var ErrNotShown = errors.New("it was written, and the cache does not show it yet")

// NewClient is a client.NewClientFunc, for manager.Options.NewClient beside a cache of New: when a Create, an
// Update, a Patch, an Apply or a Delete of one object returns, or one of its subresource, reads of the cache show
// it, in whichever namespace it is. What the cache does not watch, or has been refused, is not waited for; nor is
// DeleteAllOf, nor the Create of a subresource, nor anything while the cache does not run. A deletion is shown when
// the object is gone, or has a deletionTimestamp.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	made, err := client.New(config, options)
	if err != nil || options.Cache == nil || ptr.Deref(options.DryRun, false) {
		return made, err // nothing is written
	}
	c, ok := options.Cache.Reader.(*Cache)
	if !ok {
		return nil, fmt.Errorf("making a client that waits for a scoped cache: its cache is a %T", options.Cache.Reader)
	}
	return waitingclient.New(made, writtenView{c}), nil
}

// writtenView is what a cache shows of writes.
type writtenView struct{ cache *Cache }

// AwaitWrite implements waitingclient.View.
func (v writtenView) AwaitWrite(ctx context.Context, object client.Object) error {
	return v.awaitShown(ctx, object, func(ctx context.Context, s *streamstore.Stream) error {
		return s.AwaitWritten(ctx, v.cache.registry.EndedRunning(), object)
	})
}

// AwaitDeletion implements waitingclient.View.
func (v writtenView) AwaitDeletion(object client.Object) func(context.Context) error {
	before := map[*streamstore.Stream]string{}
	for _, s := range v.streamsOf(object) {
		before[s] = s.VersionShown(object)
	}
	return func(ctx context.Context) error {
		return v.awaitShown(ctx, object, func(ctx context.Context, s *streamstore.Stream) error {
			return s.AwaitDeleted(ctx, v.cache.registry.EndedRunning(), object, before[s])
		})
	}
}

// IsKeptWhole implements waitingclient.View.
func (v writtenView) IsKeptWhole(kind schema.GroupVersionKind, subresource string) bool {
	return v.cache.settings.IsKeptWhole(kind, subresource)
}

// awaitShown waits for each stream that has the object's namespace.
func (v writtenView) awaitShown(ctx context.Context, object client.Object, await func(context.Context, *streamstore.Stream) error) error {
	if !v.cache.hasStarted() {
		return nil // nobody can read it yet
	}
	ctx, cancel := context.WithTimeout(ctx, v.cache.own.WriteTimeout)
	defer cancel()
	for _, s := range v.streamsOf(object) {
		if err := await(ctx, s); err != nil {
			return fmt.Errorf("writing %s %s: %w: %w", s.Kind.GVK.Kind, client.ObjectKeyFromObject(object), ErrNotShown, err)
		}
	}
	return nil
}

// streamsOf returns the streams of all flavors that have the namespace of an object.
func (v writtenView) streamsOf(object client.Object) (list []*streamstore.Stream) {
	gvk, err := apiutil.GVKForObject(object, v.cache.settings.Scheme())
	if err != nil {
		gvk = object.GetObjectKind().GroupVersionKind()
	}
	for _, f := range []kindsettings.Flavor{kindsettings.Typed, kindsettings.Unstructured, kindsettings.Metadata} {
		if k := v.cache.registry.StoreOf(kindsettings.Key{GVK: gvk, Flavor: f}); k != nil {
			if s := k.StreamOf(object.GetNamespace()); s != nil {
				list = append(list, s)
			}
		}
	}
	return list
}
