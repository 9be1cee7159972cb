package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ambit-dev/ambit/pkg/controller/clusterwatch"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/controller/wakes"
	"github.com/ambit-dev/ambit/pkg/internal/lazylog"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// New checks the options and makes an controller. It starts nothing.
func New(o Options) (*Controller, error) {
	if o.Informers == nil || o.Access == nil || o.Clients == nil || o.Served == nil {
		return nil, fmt.Errorf("making a controller: Informers, Access, Clients and Served are required")
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Random == nil {
		o.Random = rand.Text
	}
	if o.Jitter == nil {
		o.Jitter = func(most time.Duration) time.Duration { return mathrand.N(most + 1) }
	}
	e := &Controller{options: o, startedAt: o.Clock.Now(), telemetry: telemetry.New(o.Metrics, o.Tracer, o.Clock.Now), permitted: permitted.New(o.Informers, o.Access)}
	e.discovery = discovery.New(discovery.Options{
		Served: o.Served, Clock: o.Clock,
		Missing: func() []schema.GroupVersionResource { return clusterwatch.MissingResources(o.Informers) },
	})
	e.wakes = wakes.New(o.Clock, e.enqueueKey)
	watching := clusterwatch.Options{Access: o.Access, Informers: o.Informers, Kinds: e.discovery, Permitted: e.permitted, Clock: o.Clock, Logger: o.Logger}
	e.rights, e.definitions = clusterwatch.NewRBACWatcher(watching), clusterwatch.NewDefinitionWatcher(watching)
	if err := e.Set(o.Programs, o.Retire); err != nil {
		return nil, fmt.Errorf("making a controller: %w", err)
	}
	return e, nil
}

// Start works until ctx ends, and returns when all that it started has ended
// and every stream it needed is given back.
func (e *Controller) Start(ctx context.Context) error {
	skipNameValidation := true // names are for metrics; several controllers in one process share one
	c, err := controller.NewTypedUnmanaged("ambit", controller.TypedOptions[Key]{
		Reconciler:              reconcile.TypedFunc[Key](e.reconcileKey),
		MaxConcurrentReconciles: e.options.Concurrency,
		SkipNameValidation:      &skipNameValidation,
		RateLimiter:             fairqueue.ErrorBackoff(),
		NewQueue:                e.newQueue,
		LogConstructor:          e.loggerFor,
	})
	if err != nil {
		return fmt.Errorf("making the controller's workers: %w", err)
	}
	if err := c.Watch(source.TypedFunc[Key](e.setQueue)); err != nil {
		return fmt.Errorf("attaching the engine's queue: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { e.pollKinds(ctx) })
	background.Go(func() { e.wakes.WakeOwners(ctx) })
	background.Go(func() { e.rights.Run(ctx) })
	background.Go(func() { e.definitions.Run(ctx) })
	err = c.Start(ctx)
	stop()
	background.Wait()
	e.setMutex.Lock()
	defer e.setMutex.Unlock()
	e.releaseRevisions(slices.Concat(e.revisions.ClearOlder(), e.revisions.AllCurrent()))
	return err
}

// newQueue makes the queue. One with a name wakes up twice a second for its metrics.
func (e *Controller) newQueue(name string, limiter workqueue.TypedRateLimiter[Key]) workqueue.TypedRateLimitingInterface[Key] {
	if !e.telemetry.IsMeasured() {
		name = ""
	}
	return fairqueue.New(name, limiter)
}

// setQueue receives the queue when the controller starts.
func (e *Controller) setQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[Key]) error {
	e.queue.Store(&queue)
	for _, op := range e.revisions.AllCurrent() {
		e.enqueueKey(Key{Policy: op.id})
	}
	return nil
}

// pollKinds looks kinds up until ctx ends.
func (e *Controller) pollKinds(ctx context.Context) {
	for e.discovery.WaitForRound(ctx) {
		if news := e.discovery.PollRound(ctx); len(news) > 0 {
			e.handleKindChanges(news)
		}
	}
}

// handleKindChanges is called when kinds were found, or were found to be missing: policies that
// have to do with one look at all of their owners anew. That a kind which only records
// name is not served concerns the owners of these records, and nobody else.
func (e *Controller) handleKindChanges(news map[schema.GroupKind]bool) {
	e.definitions.CheckSoon(e.discovery.AnyUnserved())
	for _, op := range e.revisions.AllCurrent() {
		if op.kinds.ConcernsAny(news) {
			op.lookAnew.Store(true)
			e.enqueueKey(Key{Policy: op.id})
			continue
		}
		op.enqueueOwners(op.kinds.OwnersOf(news))
	}
}

func (e *Controller) loggerFor(key *Key) logr.Logger {
	if key == nil {
		return e.options.Logger.V(1) // the controller's own coming and going
	}
	log := lazylog.New(e.options.Logger).WithValues("policy", key.Policy)
	if key.Name == "" {
		return log
	}
	return log.WithValues("namespace", key.Namespace, "name", key.Name)
}
