package controller

import (
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ownerHealth says how an owner fares.
type ownerHealth int

const (
	// healthProgressing: something is still to come, or the owner was not looked at yet.
	healthProgressing ownerHealth = iota
	// healthReady: all is as the policy says.
	healthReady
	// healthStalled: somebody has to act.
	healthStalled
)

// reconcileResult is what a reconcile has come to that left an owner so.
func (h ownerHealth) reconcileResult() string {
	switch h {
	case healthReady:
		return telemetry.ResultReady
	case healthStalled:
		return telemetry.ResultStalled
	}
	return telemetry.ResultProgressing
}

func healthOf(planned *plan.Plan) ownerHealth {
	switch {
	case len(planned.Blockers) == 0:
		return healthReady
	case planned.Blockers[0].Terminal:
		return healthStalled
	}
	return healthProgressing
}

// recordHealth keeps how the owner is, for metrics: the status of an owner of a kind of
// Kubernetes itself does not say it.
func (t ownerTurn) recordHealth(state *ownerState, planned *plan.Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state.health = healthOf(planned)
}

// Owners says how many owners a policy works on, and how they fare.
type Owners struct {
	// Policy is as in Denial.
	Policy string
	// Ready are as the policy says, for Stalled ones somebody has to act, and
	// Progressing are all others.
	Ready, Progressing, Stalled int
}

// Owners returns how the owners of each policy fare, sorted by policy. Owners that the
// policy does not want are counted while there is something left to clean up.
func (e *Controller) Owners() []Owners {
	var list []Owners
	for _, op := range e.revisions.AllCurrent() {
		list = append(list, policyReport{op}.countHealth())
	}
	return list
}

func (r policyReport) countHealth() Owners {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[ownerHealth]int{}
	for _, state := range r.owners.WorkingOwners() {
		counts[state.health]++
	}
	counts[healthProgressing] += r.owners.CountUnseen()
	return Owners{Policy: r.id, Ready: counts[healthReady], Progressing: counts[healthProgressing], Stalled: counts[healthStalled]}
}
