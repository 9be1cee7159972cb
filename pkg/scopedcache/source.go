package scopedcache

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindregistry"
)

// Change says that a stream has another state. It is a copy, but for Missing, which nobody may change.
type Change struct {
	GVK schema.GroupVersionKind
	// Namespace is where; "" is all namespaces, or a kind without any.
	Namespace string
	// State is informer.Live once objects can be read, informer.Degraded while they may be stale, Forbidden,
	// Unauthenticated, Missing or Invalid when the API server has refused and they are dropped, and
	// Stopped when the namespace is not watched any more.
	State informer.State
	// Missing is what is denied; nil if nothing is.
	Missing []access.Access
	// Since is when a refusal was first seen.
	Since time.Time
	// Owners are those whose handles need the stream, sorted; or, if Object is set, those who have read that.
	Owners []Owner
	// Object, if it is not empty, has changed since the owners have read it, or a list that it is in or was in; State is
	// informer.Live then. Source tells of that, OnChange does not.
	Object types.NamespacedName
}

// IsLost reports whether there is nothing to read.
func (c Change) IsLost() bool { return c.State.IsFinal() || c.State == informer.Stopped }

// IsLive reports whether there is all to read.
func (c Change) IsLive() bool { return c.State == informer.Live }

// Source enqueues who needs a stream when it is lost, and when it comes back: a reconciler can say so in a
// status, and needs nothing else to go on. It also enqueues the owners of handles when something has changed that was
// read through them. The streams that are lost already are told first. requestsOf says who that
// is, called by one goroutine; it may read the cache. Nil means the owners of the handles that need the stream.
// The cache is one of New.
func Source(c cache.Cache, requestsOf func(context.Context, Change) []reconcile.Request) source.Source {
	if requestsOf == nil {
		requestsOf = requestsOfOwners
	}
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		scoped, ok := c.(*Cache)
		if !ok {
			return fmt.Errorf("watching the streams of a cache: it is a %T, not one of scopedcache.New", c)
		}
		changes := eventqueue.NewMailbox[Change]()
		scoped.registry.SubscribeChanges(ctx, true, func(told kindregistry.Change) {
			if c := Change(told); c.IsLost() || c.IsLive() { // else it is no loss, nor may it be the end of one
				changes.PushValue(c)
			}
		})
		go runChanges(ctx, changes, func(change Change) {
			for _, request := range requestsOf(ctx, change) {
				queue.Add(request)
			}
		})
		return nil
	})
}

func requestsOfOwners(_ context.Context, change Change) []reconcile.Request {
	requests := make([]reconcile.Request, len(change.Owners))
	for i, owner := range change.Owners {
		requests[i].NamespacedName = owner.NamespacedName
	}
	return requests
}

// runChanges calls do for each change until ctx ends.
func runChanges(ctx context.Context, changes *eventqueue.Mailbox[Change], do func(Change)) {
	for ctx.Err() == nil {
		for _, c := range changes.TakeAll() {
			do(c)
		}
		select {
		case <-changes.Woken():
		case <-ctx.Done():
		}
	}
}
