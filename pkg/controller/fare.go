package controller

import "github.com/ambit-dev/ambit/pkg/plan"

// fare says how an owner fares.
type fare int

const (
	// progressing: something is still to come, or the owner was not looked at yet.
	progressing fare = iota
	// ready: all is as the policy says.
	ready
	// stalled: somebody has to act.
	stalled
)

func fareOf(planned *plan.Plan) fare {
	switch {
	case len(planned.Blockers) == 0:
		return ready
	case planned.Blockers[0].Terminal:
		return stalled
	}
	return progressing
}

// noteFare keeps how the owner fares, for metrics: the status of an owner of a kind of
// Kubernetes itself does not say it.
func (p *pass) noteFare(planned *plan.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.fare = fareOf(planned)
	p.last = planned
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
	for _, op := range e.versions.all() {
		list = append(list, op.fares())
	}
	return list
}

func (op *operator) fares() Owners {
	op.mu.Lock()
	defer op.mu.Unlock()
	counts := map[fare]int{}
	for _, state := range op.owners.WorkingOwners() {
		counts[state.fare]++
	}
	counts[progressing] += op.owners.CountUnseen()
	return Owners{Policy: op.id, Ready: counts[ready], Progressing: counts[progressing], Stalled: counts[stalled]}
}
