package scopedcache

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache is a cache.Cache whose streams come and go with rights, namespaces and needs. It is safe for concurrent use;
// Start may be called once.
type Cache struct {
	engine *engine
	root   *Handle // what is needed until the end

	wasSettled atomic.Bool // CheckHealth has said so
}

var _ cache.Cache = &Cache{}

// New returns what makes the cache of a manager or of a cluster: manager.Options.NewCache,
// cluster.Options.NewCache. The cache is a *Cache. The error of that function names what is not supported.
func New(o Options) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		s, err := newSettings(config, o, options)
		if err != nil {
			return nil, err
		}
		e, err := connectEngine(s)
		if err != nil {
			return nil, err
		}
		return &Cache{engine: e, root: &Handle{engine: e}}, nil
	}
}

// Get implements client.Reader. What is denied is a DeniedError, at once. A kind that the API server does not
// serve any more is a meta.NoKindMatchError.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.root.Get(ctx, key, object, options...)
}

// List implements client.Reader. Over several namespaces of which some are denied it lists the others, and
// returns a DeniedError as well, unless Options.AllowPartial is set.
func (c *Cache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.root.List(ctx, list, options...)
}

// GetInformer implements cache.Informers. It waits until each stream is synced or refused.
func (c *Cache) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	key, err := c.engine.settings.keyOf(object)
	if err != nil {
		return nil, err
	}
	return c.engine.awaitInformer(ctx, c.root, key, options)
}

// GetInformerForKind implements cache.Informers, for a kind that the scheme knows.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	object, err := c.engine.settings.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return c.engine.awaitInformer(ctx, c.root, kindKey{GVK: gvk, flavor: flavorOf(object)}, options)
}

// RemoveInformer implements cache.Informers: event handlers and indexes end, and the objects are dropped unless a handle
// needs them.
func (c *Cache) RemoveInformer(_ context.Context, object client.Object) error {
	key, err := c.engine.settings.keyOf(object)
	if err != nil {
		return err
	}
	c.engine.removeInformer(c.root, key)
	return nil
}

// IndexField implements client.FieldIndexer.
func (c *Cache) IndexField(ctx context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return i.AddIndexers(toolscache.Indexers{fieldIndex(field): newFieldIndex(values)})
}

// Start implements manager.Runnable. It returns when all that it has started has ended.
func (c *Cache) Start(ctx context.Context) error { return c.engine.runAll(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *Cache) NeedLeaderElection() bool { return false }

// WaitForCacheSync implements cache.Informers: it waits until every stream is synced or refused. It reports
// whether that was before ctx has ended.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	if !waitClosed(ctx, c.engine.started) {
		return false
	}
	for _, k := range c.engine.allKinds() {
		if k.waitAnswered(ctx) != nil {
			return false
		}
	}
	return true
}

// For returns the handle of an owner: the one that is open, or a new one. Close it when the owner is gone.
func (c *Cache) For(owner Owner) *Handle { return c.engine.handleFor(owner) }

// OnChange has tell called until ctx ends: at first for each stream as it is, then for every change. It is called
// by one goroutine, which it holds up: it must not block, nor read the cache.
func (c *Cache) OnChange(ctx context.Context, tell func(Change)) {
	c.engine.subscribeChanges(ctx, false, tell)
}

// SetNamespaces replaces the names that InNamespaces or Permitted were given. Reads follow at once. It is an
// error if the cache was made with other Namespaces, or if a name is empty.
func (c *Cache) SetNamespaces(names ...string) error {
	if c.engine.settings.own.Namespaces.rule == asConfigured || c.engine.namespaces.kind != nil {
		return errors.New("setting the namespaces of a cache: it was not made with a list of them")
	}
	if err := checkNames(names); err != nil {
		return err
	}
	if c.engine.namespaces.replace(sortedNames(names)) {
		c.engine.arrangeAll()
	}
	return nil
}

// awaitInformer returns the informer of a kind, once it is synced unless the options say otherwise.
func (e *engine) awaitInformer(ctx context.Context, h *Handle, key kindKey, options []cache.InformerGetOption) (cache.Informer, error) {
	i, err := e.sharedInformerOf(h, key)
	if err != nil {
		return nil, err
	}
	given := cache.InformerGetOptions{}
	for _, option := range options {
		option(&given)
	}
	if given.BlockUntilSynced != nil && !*given.BlockUntilSynced || !isClosed(e.started) {
		return i, nil
	}
	// A context that has ended goes first: the informer may sync at any moment.
	if ctx.Err() != nil || !waitClosed(ctx, i.synced) {
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for %T Informer to sync", i.kind.example), 0)
	}
	return i, nil
}
