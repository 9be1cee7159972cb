package controller

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// What a policy costs the others is bounded here: package fairqueue keeps the books, and
// these methods call it with the time and under the policy controller's lock.

const (
	// slowEvaluation is how long expressions over an owner take that count as slow: half
	// of what a single one may take.
	slowEvaluation = meter.TimeLimit / 2
	// throttleJitter spreads the tries of owners that wait for the throttle.
	throttleJitter = 100 * time.Millisecond
	// crowdedRetry is when an owner looks again whether others have made room.
	crowdedRetry = 30 * time.Second
)

// quarantineWait returns how long an owner has to wait because it, or its policy, exceeded
// limits. An owner that is gone, nil, and one that is to be cleaned up after do not wait.
func (t ownerTurn) quarantineWait(name types.NamespacedName, owner *unstructured.Unstructured) time.Duration {
	if owner == nil || owner.GetDeletionTimestamp() != nil || t.retiring {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.quarantine.WaitTime(name, owner.GetResourceVersion(), t.controller.currentTime())
}

// enterThrottle returns how long an owner has to wait because it is expensive. If the
// result is 0, the caller calls leave when the work on the owner is done.
func (t ownerTurn) enterThrottle(name types.NamespacedName) (leave func(), wait time.Duration) {
	now := t.controller.currentTime()
	t.mu.Lock()
	expensive := t.costs.IsExpensive(name, now)
	t.mu.Unlock()
	if t.retiring || !expensive {
		return func() {}, 0
	}
	if wait := t.controller.throttle.TryEnter(now); wait > 0 {
		return nil, wait + t.controller.options.Jitter(throttleJitter)
	}
	return func() { t.controller.throttle.LeaveAndPause(t.controller.currentTime()) }, 0
}

// recordEvaluation notes that expressions over an owner were evaluated from a time until
// now.
func (op *policyController) recordEvaluation(name types.NamespacedName, began time.Time) {
	now := op.controller.currentTime()
	took := now.Sub(began)
	op.mu.Lock()
	expensive := op.costs.IsExpensive(name, began)
	if took >= slowEvaluation {
		op.costs.RecordSlow(name, now)
	}
	op.mu.Unlock()
	if expensive {
		op.controller.throttle.ChargeTime(took)
	}
}

// recordExceeded notes that an owner exceeded a limit, and returns how long to leave it
// alone.
func (op *policyController) recordExceeded(name types.NamespacedName, resourceVersion string) time.Duration {
	now := op.controller.currentTime()
	op.mu.Lock()
	op.costs.RecordExceeded(now)
	wait, tripped := op.quarantine.RecordExceeded(name, resourceVersion, op.owners.CountOwners().Working, now)
	op.mu.Unlock()
	if tripped {
		op.controller.enqueueKey(Key{Policy: op.id})
	}
	return wait
}

// policyQuarantine returns the problem of a policy that is quarantined as a whole, and for
// how long it is. The problem is nil if it is not.
func (t policyTurn) policyQuarantine() (*plan.Problem, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.quarantine.PolicyWait(t.controller.currentTime())
	if wait <= 0 {
		return nil, 0
	}
	return &plan.Problem{Reason: v1alpha1.ReasonQuarantined, Terminal: true,
		Message: fmt.Sprintf("%d or more owners of the policy, and half of all, run into limits of expressions or sizes: all of its owners wait", fairqueue.PolicyTripsAt)}, wait
}
