package ownerreconcile

import (
	"context"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/internal/status"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// requireInputs declares the streams that the owner needs. The result is how long to
// wait for their first lists; 0: go on.
func (p *Reconciler) requireInputs(ctx context.Context, home *permissionset.Set) time.Duration {
	shared := p.owner != nil && p.SharesStreams(p.owner.GetNamespace())
	subject := ownerinputs.Subject{Name: p.state.name, Owner: p.owner, Retire: p.retire, Queries: p.state.queries, SharesStreams: shared, IsSpread: p.IsSpread(), Home: home}
	if !p.Inputs.IsCurrent(p.state.inputs, subject) {
		s, wait := p.Inputs.PlanInputs(ctx, subject)
		if wait > 0 {
			return wait
		}
		s.OpenStreams(p.Informers, p.state.handler)
		p.state.inputs = s
	}
	now := p.Now()
	syncing, doubtful := p.state.inputs.CheckSync(now)
	if !syncing {
		p.state.syncing = time.Time{}
		return doubtful
	}
	if p.state.syncing.IsZero() {
		p.state.syncing = now
	}
	return max(0, p.state.syncing.Add(p.syncGrace()).Sub(now))
}

// How long an owner's reconciles wait for the first list of a stream before they go
// on and say in the status what they wait for: an owner without a status, and
// one whose status stands, as after a restart.
const (
	syncGrace      = 2 * time.Second
	syncGraceKnown = 30 * time.Second
)

// syncGrace is how long to wait for first lists. An owner that has never been told
// anything should not wait long: without conditions it looks fine.
func (p *Reconciler) syncGrace() time.Duration {
	if p.owner == nil || status.HasCondition(p.owner, v1alpha1.ConditionReady) {
		return syncGraceKnown
	}
	return syncGrace
}

// PlanAndWrite observes, plans and writes in turns, until a plan wants no other place
// than those that are observed, and has no action that was not tried in this reconcile. It
// returns that plan, or how long to wait for what is to be observed.
func (p *Reconciler) PlanAndWrite(ctx context.Context, home *permissionset.Set) (*plan.Plan, time.Duration, error) {
	defer p.recordDraft()
	for turn := 0; ; turn++ {
		if wait := p.requireInputs(ctx, home); wait > 0 {
			p.state.existing = p.existing
			return nil, wait, nil
		}
		home = p.state.inputs.Home.Answer
		planned := p.makePlan(ctx)
		more := p.setQueries(planned.Plan)
		if more && turn < p.maxTurns(planned.Plan) {
			continue
		}
		progress, err := p.writePlan(ctx, planned.Plan)
		if err != nil {
			return nil, 0, err
		}
		if !progress || p.isCacheBehind || turn >= p.maxTurns(planned.Plan) {
			// What is still wanted, though it was tried and not refused: the cache does
			// not show its effect. Places that are to be observed have no stream yet that
			// would wake the owner.
			p.endConflicts(ctx)
			p.isCacheBehind = p.isCacheBehind || more || len(planned.Actions) > 0 || planned.OwnerMetadata != nil && !p.waits || slices.ContainsFunc(p.existing, existingObject.isHidden)
			return p.finishPlan(ctx, planned), 0, nil
		}
	}
}

// makePlan plans as of what is seen now, measured. The plan is finished only if it has nothing to do: PlanAndWrite
// finishes the one that it returns.
func (p *Reconciler) makePlan(ctx context.Context) (planned *plan.Draft) {
	p.recordDraft()
	began := p.Now()
	ctx, end := p.measured.BeginPlan(ctx)
	snapshot := snapshotReader{p}.takeSnapshot()
	if p.owner == nil {
		planned = &plan.Draft{Plan: plan.Ensure(ctx, p.Program, snapshot)}
	} else {
		planned = plan.Begin(ctx, p.Program, snapshot)
		p.state.former = planned.Former // what is gone is not wanted by the next turn
		if len(planned.Actions) == 0 && planned.OwnerMetadata == nil && !planned.Expire {
			planned.Finish(ctx)
		}
	}
	end(planned.Plan)
	p.drafted = p.Now().Sub(began)
	return planned
}

// finishPlan has the last plan say how the owner fares, if it does not yet.
func (p *Reconciler) finishPlan(ctx context.Context, planned *plan.Draft) *plan.Plan {
	if !planned.IsFinished() {
		began := p.Now()
		planned.Finish(ctx)
		p.drafted += p.Now().Sub(began)
	}
	return planned.Plan
}

// recordDraft tells how long the last plan took, in one sum, when nothing is added to it any more.
func (p *Reconciler) recordDraft() {
	if p.drafted > 0 {
		p.RecordEvaluation(p.state.name, p.Now().Add(-p.drafted))
		p.drafted = 0
	}
}

// maxTurns bounds the turns of a reconcile: one may unblock the next object of the graph, an
// object may need a second write, and places and records come first. What takes more
// is somebody who answers each write with another.
func (p *Reconciler) maxTurns(planned *plan.Plan) int {
	return 2*max(len(p.Program.Children), len(planned.Children)) + 5
}

// writePlan carries out what a plan says, and says whether that has changed anything.
func (p *Reconciler) writePlan(ctx context.Context, planned *plan.Plan) (progress bool, err error) {
	owner, children := ownerWriter{p}, childWriter{p}
	if planned.Expire {
		return owner.deleteOwner(ctx)
	}
	if planned.OwnerMetadata != nil {
		if progress, err = owner.writeOwnerMetadata(ctx, *planned.OwnerMetadata); err != nil {
			return false, err
		}
	}
	for _, action := range planned.Actions {
		did, err := children.applyAction(ctx, action)
		if err != nil {
			return false, err
		}
		progress = progress || did
	}
	return progress, nil
}

// setQueries notes the places that a plan wants beyond those that are known for sure,
// and says whether they are others than before.
func (p *Reconciler) setQueries(planned *plan.Plan) bool {
	var wants []plan.Query
	for _, want := range planned.Queries {
		if !p.isOwnPlace(want) {
			wants = append(wants, want)
		}
	}
	if ownerinputs.SameQueries(wants, p.state.queries) {
		return false
	}
	p.state.queries = wants
	return true
}

// isOwnPlace says whether a place is one that is looked at whatever the plan is.
func (p *Reconciler) isOwnPlace(want plan.Query) bool {
	if p.owner == nil || want.Names != nil || want.Namespace != "" && want.Namespace != p.owner.GetNamespace() {
		return false
	}
	child := policy.FindChild(p.Program.Children, want.Child)
	return child != nil && !ownerinputs.IsElsewhere(child) && p.state.inputs.IsObserved(want.Location)
}
