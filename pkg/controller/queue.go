package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// ownerSubscriber queues one owner, or without a name the policy itself, when something it needs has changed. It is
// comparable: equal values are the same subscriber.
type ownerSubscriber struct {
	operator *policyController
	key      Key
}

var _ informer.EventHandler = ownerSubscriber{}

func (op *policyController) subscriberFor(name types.NamespacedName) ownerSubscriber {
	return ownerSubscriber{operator: op, key: Key{Policy: op.id, Namespace: name.Namespace, Name: name.Name}}
}

// Changed implements informer.EventHandler.
func (s ownerSubscriber) Changed(event informer.Event) {
	if event.Object == nil {
		s.operator.checkEvent(event)
	}
	s.operator.controller.enqueueKey(s.key)
}

// enqueueKey never blocks.
func (e *Controller) enqueueKey(key Key) {
	if queue := e.queue.Load(); queue != nil {
		e.telemetry.RecordEvent(key)
		(*queue).Add(key)
	}
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

// reconcileKey works on a key. Until it returns nobody else has the key, so that an owner is
// never worked on by two versions of a policy at a time. A key of a policy that is gone
// is nothing.
func (e *Controller) reconcileKey(ctx context.Context, key Key) (reconcile.Result, error) {
	ctx = e.telemetry.WithEvent(ctx, key)
	revision := e.revisions.EnterCurrent(key.Policy)
	if revision == nil {
		return reconcile.Result{}, nil
	}
	op := revision.Value()
	defer e.leaveRevision(op, key)
	if key.Name == "" {
		wait := policyTurn{op}.reconcilePolicy(ctx)
		return reconcile.Result{RequeueAfter: shorterWait(wait, e.settleRevision(op))}, nil
	}
	wait, err := ownerTurn{op}.reconcileOwner(ctx, key)
	e.settleRevision(op)
	return reconcile.Result{RequeueAfter: wait}, err
}
