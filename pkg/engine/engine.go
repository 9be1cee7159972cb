package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// Options are the inputs of an Engine.
type Options struct {
	// Programs are the policies to run; policy.Together says which can.
	Programs []*policy.Program
	// Streams are the informers. The caller starts them, before the engine, and
	// stops them after it. Required.
	Streams *watch.Streams
	// Client writes children and statuses. Required.
	Client dynamic.Interface
	// Mapper finds the resources behind kinds. It may make requests. Required.
	Mapper meta.RESTMapper
	// Identity is the user name that Client and Streams act as, for messages.
	Identity string
	// Namespaces limits all policies to these namespaces. Empty: no limit.
	Namespaces []string
	// Concurrency is how many owners are worked on at once. 0 means 10.
	Concurrency int
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
	// Clock is the time of conditions and backoffs. Nil means the real one.
	Clock clock.Clock
}

const defaultConcurrency = 10

// Engine runs policies. Create it with New; Start may be called once. It is
// safe for concurrent use.
type Engine struct {
	options   Options
	kinds     *kinds
	operators map[string]*operator // by Key.Policy; not changed after New
	queue     atomic.Pointer[workqueue.TypedRateLimitingInterface[Key]]
}

// New checks the options and makes an engine. It starts nothing.
func New(o Options) (*Engine, error) {
	if o.Streams == nil || o.Client == nil || o.Mapper == nil {
		return nil, fmt.Errorf("making an engine: Streams, Client and Mapper are required")
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	e := &Engine{options: o, operators: map[string]*operator{}}
	e.kinds = newKinds(o.Mapper, o.Clock, e.enqueuePolicies)
	if err := policy.Together(o.Programs); err != nil {
		return nil, fmt.Errorf("making an engine: %w", err)
	}
	for _, program := range o.Programs {
		op := newOperator(e, program)
		e.operators[op.id] = op
	}
	return e, nil
}

// Start works until ctx ends, and returns when all that it started has ended
// and every stream it needed is given back.
func (e *Engine) Start(ctx context.Context) error {
	skipNameValidation := true // names are for metrics; several engines in one process share one
	c, err := controller.NewTypedUnmanaged("ambit", controller.TypedOptions[Key]{
		Reconciler:              reconcile.TypedFunc[Key](e.reconcile),
		MaxConcurrentReconciles: e.options.Concurrency,
		SkipNameValidation:      &skipNameValidation,
		RateLimiter:             newLimiter(),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[Key]) workqueue.TypedRateLimitingInterface[Key] {
			return newQueue(name, limiter)
		},
		LogConstructor: e.logger,
	})
	if err != nil {
		return fmt.Errorf("making the engine's controller: %w", err)
	}
	if err := c.Watch(source.TypedFunc[Key](e.begin)); err != nil {
		return fmt.Errorf("attaching the engine's queue: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { e.kinds.run(ctx) })
	err = c.Start(ctx)
	stop()
	background.Wait()
	for _, op := range e.operators {
		op.release()
	}
	return err
}

// begin receives the queue when the controller starts.
func (e *Engine) begin(_ context.Context, queue workqueue.TypedRateLimitingInterface[Key]) error {
	e.queue.Store(&queue)
	e.enqueuePolicies()
	return nil
}

func (e *Engine) enqueuePolicies() {
	for id := range e.operators {
		e.enqueue(Key{Policy: id})
	}
}

// enqueue never blocks.
func (e *Engine) enqueue(key Key) {
	if queue := e.queue.Load(); queue != nil {
		(*queue).Add(key)
	}
}

func (e *Engine) reconcile(ctx context.Context, key Key) (reconcile.Result, error) {
	op, ok := e.operators[key.Policy]
	if !ok {
		return reconcile.Result{}, nil
	}
	if key.Name == "" {
		return reconcile.Result{}, op.reconcile(ctx)
	}
	wait, err := op.reconcileOwner(ctx, key)
	return reconcile.Result{RequeueAfter: wait}, err
}

func (e *Engine) logger(key *Key) logr.Logger {
	if key == nil {
		return e.options.Logger.V(1) // the controller's own coming and going
	}
	log := e.options.Logger.WithValues("policy", key.Policy)
	if key.Name == "" {
		return log
	}
	return log.WithValues("namespace", key.Namespace, "name", key.Name)
}

func (e *Engine) now() time.Time { return e.options.Clock.Now() }
