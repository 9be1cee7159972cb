package scopedcache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/typedclient"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindregistry"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/objectread"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
)

// Cache is a cache.Cache whose streams come and go with rights, namespaces and needs. It is safe for concurrent use;
// Start may be called once.
type Cache struct {
	*parts
	root *Handle // what is needed until the end

	wasSettled atomic.Bool // CheckHealth has said so

	mu      sync.Mutex // guards handles; taken under no other lock
	handles map[Owner]*Handle
}

// parts are what a cache is made of. They do not change.
type parts struct {
	own       Options
	options   cache.Options
	settings  *kindsettings.Settings
	informers *informer.Set
	reviews   *access.Reviewer
	identity  *identity
	registry  *kindregistry.Registry
	logger    logr.Logger
	onError   func(informer.WatchError) // set before informers run; nil if nobody is told
}

var _ cache.Cache = &Cache{}

// New returns what makes the cache of a manager or of a cluster: manager.Options.NewCache,
// cluster.Options.NewCache. The cache is a *Cache. The error of that function names what is not supported.
func New(o Options) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		if err := o.checkSupported(options); err != nil {
			return nil, err
		}
		settings, err := kindsettings.New(config, o.Fields, options)
		if err != nil {
			return nil, err
		}
		clients, err := typedclient.NewForConfigAndClient(settings.Config, settings.HTTP)
		if err != nil {
			return nil, err
		}
		return newCache(o, options, settings, access.FromClient(clients.AuthorizationV1()), newIdentity(settings.Config, clients.AuthenticationV1()))
	}
}

func newCache(o Options, options cache.Options, settings *kindsettings.Settings, reviews access.Reviews, who *identity) (_ *Cache, err error) {
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	c := &parts{own: o, options: options, settings: settings, identity: who, logger: log.Log.WithName("scopedcache")}
	user := informer.UserOptions{Reauthorize: !o.LongWatches, OnWatchError: c.reportError}
	if o.Reads != nil {
		if c.informers, c.reviews, err = o.Reads.ShareReads(settings.Config, user); err != nil {
			return nil, fmt.Errorf("making a scoped cache: %w", err)
		}
	} else {
		c.informers = informer.NewSet(informer.Options{Reauthorize: user.Reauthorize, OnWatchError: user.OnWatchError, Logger: c.logger.V(1)})
		c.reviews = access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return reviews, nil }})
	}
	c.registry, err = kindregistry.New(kindregistry.Options{
		Settings: settings, Namespaces: o.Namespaces.given, DeleteOnLeave: o.DeleteOnLeave,
		Informers: c.informers, Reviews: c.reviews, OnNews: c.logChange,
	})
	made := &Cache{parts: c, handles: map[Owner]*Handle{}}
	made.root = &Handle{cache: made}
	return made, err
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
	key, err := c.settings.KeyOf(object)
	if err != nil {
		return nil, err
	}
	return c.awaitInformer(ctx, &c.root.holder, key, options)
}

// GetInformerForKind implements cache.Informers, for a kind that the scheme knows.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	object, err := c.settings.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	return c.awaitInformer(ctx, &c.root.holder, kindsettings.Key{GVK: gvk, Flavor: kindsettings.FlavorOf(object)}, options)
}

// RemoveInformer implements cache.Informers: event handlers and indexes end, and the objects are dropped unless a handle
// needs them.
func (c *Cache) RemoveInformer(_ context.Context, object client.Object) error {
	key, err := c.settings.KeyOf(object)
	if err != nil {
		return err
	}
	c.registry.RemoveInformer(&c.root.holder, key)
	return nil
}

// IndexField implements client.FieldIndexer.
func (c *Cache) IndexField(ctx context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return i.AddIndexers(toolscache.Indexers{objectread.FieldIndex(field): objectread.NewFieldIndex(values)})
}

// Start implements manager.Runnable. It returns when all that it has started has ended.
func (c *Cache) Start(ctx context.Context) error {
	return c.registry.RunAll(ctx, c.runInformers, c.reviews.Start, func(ctx context.Context) error {
		if c.own.Namespaces.given.Rule == streamlayout.Permitted {
			c.identity.wantName()
		}
		c.identity.askName(ctx)
		return nil
	})
}

func (c *parts) runInformers(ctx context.Context) error {
	if report := c.options.DefaultWatchErrorHandler; report != nil {
		c.onError = func(w informer.WatchError) { report(log.IntoContext(ctx, c.logger), reflectorOf(w.Key), w.Err) }
	}
	return c.informers.Start(ctx)
}

// reportError passes an error of a list or a watch on to the handler of cache.Options.
func (c *parts) reportError(w informer.WatchError) {
	if c.onError != nil {
		c.onError(w)
	}
}

// reflectorOf returns a Reflector that never runs, for handlers that want the name of one.
func reflectorOf(key informer.Key) *toolscache.Reflector {
	return toolscache.NewReflectorWithOptions(&toolscache.ListWatch{}, nil, nil, toolscache.ReflectorOptions{
		Name: "scopedcache", TypeDescription: key.GVR.GroupResource().String(),
	})
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *Cache) NeedLeaderElection() bool { return false }

func (c *parts) hasStarted() bool { return eventqueue.IsClosed(c.registry.BeganRunning()) }

// WaitForCacheSync implements cache.Informers: it waits until every stream is synced or refused. It reports
// whether that was before ctx has ended.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	if !eventqueue.WaitClosed(ctx, c.registry.BeganRunning()) {
		return false
	}
	for _, k := range c.registry.NeededStores() {
		if k.WaitAnswered(ctx) != nil {
			return false
		}
	}
	return true
}

// For returns the handle of an owner: the one that is open, or a new one. Close it when the owner is gone.
func (c *Cache) For(owner Owner) *Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.handles[owner]
	if !ok {
		h = &Handle{cache: c}
		h.holder.Owner = owner
		c.handles[owner] = h
	}
	return h
}

// OnChange has tell called until ctx ends: at first for each stream as it is, then for every change. It is called
// by one goroutine, which it holds up: it must not block, nor read the cache.
func (c *Cache) OnChange(ctx context.Context, tell func(Change)) {
	c.registry.SubscribeChanges(ctx, false, tell)
}

// SetNamespaces replaces the names that InNamespaces or Permitted were given. Reads follow at once. It is an
// error if the cache was made with other Namespaces, or if a name is empty.
func (c *Cache) SetNamespaces(names ...string) error { return c.registry.SetNamespaces(names) }

// awaitInformer returns the informer of a kind, once it is synced unless the options say otherwise.
func (c *parts) awaitInformer(ctx context.Context, h *kindregistry.Holder, key kindsettings.Key, options []cache.InformerGetOption) (cache.Informer, error) {
	i, err := c.registry.InformerOf(h, key)
	if err != nil {
		return nil, err
	}
	given := cache.InformerGetOptions{}
	for _, option := range options {
		option(&given)
	}
	if !ptr.Deref((*bool)(given.BlockUntilSynced), true) || !c.hasStarted() {
		return i, nil
	}
	// A context that has ended goes first: the informer may sync at any moment.
	if ctx.Err() != nil || !eventqueue.WaitClosed(ctx, i.Done()) {
		return nil, i.Store().SyncTimeout()
	}
	return i, nil
}
