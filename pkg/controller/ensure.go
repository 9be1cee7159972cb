package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// ensure makes what the policy itself needs, or removes it when the policy goes. It
// is called on the policy's own turn. The result is what stands in the way, and when
// to look again.
func (op *operator) ensure(ctx context.Context) (*plan.Problem, time.Duration) {
	if len(op.program.Ensured) == 0 {
		return nil, 0
	}
	if op.ensuring == nil {
		op.ensuring = newOwnerState(op.subscriber(types.NamespacedName{}))
	}
	p := op.newPass(nil, op.ensuring, op.retiring)
	planned, wait, err := p.converge(ctx, unlimited())
	switch {
	case err != nil:
		ctrllog.FromContext(ctx).Info("what the policy ensures cannot be made", "reason", err.Error())
		return nil, backoff(0)
	case wait > 0:
		return op.problemOf(nil), wait
	case p.doubted:
		return op.problemOf(nil), confirmGrace
	}
	p.releaseUnusedKinds()
	op.mu.Lock()
	op.seen = true
	op.ensured = planned.Done || len(planned.Blockers) == 0 && len(planned.Actions) == 0
	op.mu.Unlock()
	return op.problemOf(planned), p.next(planned)
}

// unlimited are the rights in no place: there is nothing to be missing.
func unlimited() *rights { return &rights{reviewed: true} }

// problemOf is what stands in the way of what is ensured: as before while there is no
// new plan.
func (op *operator) problemOf(planned *plan.Plan) *plan.Problem {
	if planned == nil {
		return op.ensuring.said
	}
	op.ensuring.said = nil
	if len(planned.Blockers) > 0 && planned.Blockers[0].Terminal {
		op.ensuring.said = &planned.Blockers[0]
	}
	return op.ensuring.said
}

// forgetEnsured gives back what ensure needed.
func (op *operator) forgetEnsured() {
	if op.ensuring == nil {
		return
	}
	op.engine.options.Informers.Require(op.ensuring.subscriber, nil)
	op.use(types.NamespacedName{}, nil)
	op.releaseAllKinds(types.NamespacedName{})
	op.ensuring = nil
}
