package scopedcache

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindregistry"
)

// Change says that a stream has another state. It is a copy, but for Missing, which nobody may change. OnChange and
// Source tell of them.
type Change = kindregistry.Change

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
		scoped.registry.SubscribeChanges(ctx, true, func(c Change) {
			if c.IsLost() || c.IsLive() { // else it is no loss, nor may it be the end of one
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
