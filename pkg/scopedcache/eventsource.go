package scopedcache

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

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
		changes := &changeQueue{woken: make(chan struct{}, 1)}
		scoped.engine.subscribeChanges(ctx, true, changes.push)
		go changes.run(ctx, func(change Change) {
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

// changeQueue hands changes to a goroutine that may take its time.
type changeQueue struct {
	woken chan struct{} // holds at most one

	mu   sync.Mutex // guards list
	list []Change
}

// push takes in what is a loss, or may be the end of one.
func (q *changeQueue) push(c Change) {
	if !c.IsLost() && !c.IsLive() {
		return
	}
	q.mu.Lock()
	q.list = append(q.list, c)
	q.mu.Unlock()
	select {
	case q.woken <- struct{}{}:
	default: // one is enough
	}
}

func (q *changeQueue) takeAll() []Change {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.list
	q.list = nil
	return taken
}

func (q *changeQueue) run(ctx context.Context, do func(Change)) {
	for ctx.Err() == nil {
		for _, c := range q.takeAll() {
			do(c)
		}
		select {
		case <-q.woken:
		case <-ctx.Done():
		}
	}
}
