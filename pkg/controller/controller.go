package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/revisions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Options are the inputs of an Controller.
type Options struct {
	// Programs are the policies to run at first, and Retire those to clean up after, as in
	// Controller.Set. Both may be empty.
	Programs, Retire []*policy.Program
	// Informers are the informers. The caller starts them, before the controller, and
	// stops them after it. Required.
	Informers *informer.Set
	// Access says what may be done. The caller starts and stops it as Informers.
	// Required.
	Access *access.Reviewer
	// Clients returns the client that writes children and statuses as an identity,
	// as informer.Key has it. It is called for each write: share clients there. Required.
	Clients func(identity string) (dynamic.Interface, error)
	// Served asks the API server in which versions it serves kinds now: see
	// discovery.Options. Required.
	Served func(context.Context, []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error)
	// Identity is the user name of Ambit's own account, for messages.
	Identity string
	// Namespaces limits all policies to these namespaces. Empty: no limit.
	Namespaces []string
	// Concurrency is how many owners are worked on at once. 0 means 10.
	Concurrency int
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
	// Random returns a text of 128 random bits or more, for the records of owners. It
	// must be safe for concurrent use. Nil means crypto/rand.Text.
	Random func() string
	// Jitter returns a duration from 0 to most, both included, at random: it spreads what
	// would be tried again together. It must be safe for concurrent use. Nil means math/rand.
	Jitter func(most time.Duration) time.Duration
	// Metrics is told what the controller does. Nil: nobody is, and the metrics of
	// controller-runtime know nothing of its queue.
	Metrics Metrics
	// Tracer makes a span of each reconcile, plan and write. Nil: none.
	Tracer trace.Tracer
	// Recorder makes Events of owners. Nil: there are none.
	Recorder Recorder
	// Clock is the time of conditions and backoffs. Nil means the real one.
	Clock clock.Clock
}

const defaultConcurrency = 10

// Key identifies what a worker reconciles: an owner of a policy or, without a name,
// the policy itself.
type Key = fairqueue.Key

// Controller runs policies. Create it with New; Start may be called once. It is
// safe for concurrent use.
type Controller struct {
	options     Options
	discovery   *discovery.Cache
	permitted   *permitted.Informers
	rbacWatcher *rbacWatcher
	crdWatcher  *crdWatcher
	revisions   revisions.Registry[*policyController]
	startedAt   time.Time
	throttle    fairqueue.Throttle
	events      fairqueue.FirstEvents
	tracer      trace.Tracer
	queue       atomic.Pointer[workqueue.TypedRateLimitingInterface[Key]]
	// setMutex is held while policies are replaced, and while Start gives all back.
	setMutex sync.Mutex
}

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
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("")
	}
	if o.Random == nil {
		o.Random = rand.Text
	}
	if o.Jitter == nil {
		o.Jitter = func(most time.Duration) time.Duration { return mathrand.N(most + 1) }
	}
	e := &Controller{options: o, startedAt: o.Clock.Now(), tracer: o.Tracer, permitted: permitted.New(o.Informers, o.Access)}
	e.rbacWatcher, e.crdWatcher = newRBACWatcher(e), newCRDWatcher(e)
	e.discovery = discovery.New(discovery.Options{Served: o.Served, Missing: e.crdWatcher.missingResources, Clock: o.Clock})
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
	background.Go(func() { e.rbacWatcher.followPermission(ctx) })
	background.Go(func() { e.crdWatcher.watchWhileMissing(ctx) })
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
	if e.options.Metrics == nil {
		name = ""
	}
	return fairqueue.New(name, limiter)
}

// setQueue receives the queue when the controller starts.
func (e *Controller) setQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[Key]) error {
	e.queue.Store(&queue)
	for _, op := range e.revisions.AllCurrent() {
		e.enqueue(Key{Policy: op.id})
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
	e.crdWatcher.checkSoon(e.discovery.AnyUnserved())
	for _, op := range e.revisions.AllCurrent() {
		if op.kinds.ConcernsAny(news) {
			op.lookAnew.Store(true)
			e.enqueue(Key{Policy: op.id})
			continue
		}
		op.enqueueOwners(op.kinds.OwnersOf(news))
	}
}

// enqueue never blocks.
func (e *Controller) enqueue(key Key) {
	if queue := e.queue.Load(); queue != nil {
		e.recordEvent(key)
		(*queue).Add(key)
	}
}

// reconcileKey works on a key. Until it returns nobody else has the key, so that an owner is
// never worked on by two versions of a policy at a time. A key of a policy that is gone
// is nothing.
func (e *Controller) reconcileKey(ctx context.Context, key Key) (reconcile.Result, error) {
	ctx = e.withEvent(ctx, key)
	revision := e.revisions.EnterCurrent(key.Policy)
	if revision == nil {
		return reconcile.Result{}, nil
	}
	op := revision.Value()
	defer e.leaveRevision(op, key)
	if key.Name == "" {
		wait := op.reconcilePolicy(ctx)
		return reconcile.Result{RequeueAfter: shorterWait(wait, e.settleRevision(op))}, nil
	}
	wait, err := op.reconcileOwner(ctx, key)
	e.settleRevision(op)
	return reconcile.Result{RequeueAfter: wait}, err
}

func (e *Controller) loggerFor(key *Key) logr.Logger {
	if key == nil {
		return e.options.Logger.V(1) // the controller's own coming and going
	}
	log := e.options.Logger.WithValues("policy", key.Policy)
	if key.Name == "" {
		return log
	}
	return log.WithValues("namespace", key.Namespace, "name", key.Name)
}

func (e *Controller) now() time.Time { return e.options.Clock.Now() }
