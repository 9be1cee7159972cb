package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/controller/ownerreconcile"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ensurePolicyObjects makes what the policy itself needs, or removes it when the policy goes. It
// is called on the policy's own turn. The result is what stands in the way, and when
// to look again.
func (t policyTurn) ensurePolicyObjects(ctx context.Context) (*plan.Problem, time.Duration) {
	if len(t.program.Ensured) == 0 {
		return nil, 0
	}
	if t.ensuredState == nil {
		state := ownerreconcile.NewState(types.NamespacedName{}, t.subscriberFor(types.NamespacedName{}))
		t.ensuredState = &state
	}
	p := ownerreconcile.New(t.reconciles, nil, t.ensuredState, t.retiring, t.controller.telemetry.WritesOnly(t.id))
	planned, wait, err := p.PlanAndWrite(ctx, allPermissions())
	switch {
	case err != nil:
		ctrllog.FromContext(ctx).Info("what the policy ensures cannot be made", "reason", err.Error())
		return nil, t.controller.backoffAfter(0)
	case wait > 0:
		return t.problemOf(nil), wait
	case p.IsRefusalUnconfirmed():
		return t.problemOf(nil), placepermissions.ConfirmGrace
	}
	p.RecordPlan(ctx, planned)
	t.mu.Lock()
	t.haveEnsured = true
	t.isEnsured = planned.Done || len(planned.Blockers) == 0 && len(planned.Actions) == 0
	t.mu.Unlock()
	return t.problemOf(planned), p.RequeueAfter(planned)
}

// allPermissions are the rights in no place: there is nothing to be missing.
func allPermissions() *permissionset.Set { return &permissionset.Set{Reviewed: true} }

// problemOf is what stands in the way of what is ensured: as before while there is no
// new plan.
func (t policyTurn) problemOf(planned *plan.Plan) *plan.Problem {
	if planned == nil {
		return t.ensuredProblem
	}
	t.ensuredProblem = nil
	if len(planned.Blockers) > 0 && planned.Blockers[0].Terminal {
		t.ensuredProblem = &planned.Blockers[0]
	}
	return t.ensuredProblem
}

// forgetEnsured gives back what ensure needed.
func (op *policyController) forgetEnsured() {
	if op.ensuredState == nil {
		return
	}
	op.ensuredState.ReleaseInputs(op.controller.options.Informers)
	op.permissions.SetUses(types.NamespacedName{}, nil)
	op.kinds.ReleaseAllKinds(types.NamespacedName{})
	op.ensuredState, op.ensuredProblem = nil, nil
}
