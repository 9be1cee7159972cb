package manager

import (
	"context"
	"time"
)

// What nobody needs any more is looked for every tidyTime. Clients that were not needed for
// idleTime are dropped: a policy that is taken away and put back finds them.
const (
	tidyTime = time.Minute
	idleTime = 5 * time.Minute
)

// cleanupPace is how often process.tidying looks, and how long what is idle stays.
type cleanupPace struct{ tidy, idle time.Duration }

// collectUnused drops, until its context ends, what policies have left behind that are gone.
func (p *process) collectUnused(made *parts) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(p.pace.tidy)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				p.clients.dropUnused(made.identitiesInUse(), time.Now().Add(-p.pace.idle))
				p.meters.retainPolicies(made.policiesInUse()) // perhaps nobody asks for metrics
			}
		}
	}
}

// identitiesInUse are those that policies act as now, or that streams are open as: one that was
// replaced goes on for a while. What reviews and writes are made as is asked for each time.
func (made *parts) identitiesInUse() map[string]bool {
	found := map[string]bool{}
	for _, program := range made.controller.Programs() {
		found[program.Identity()] = true
	}
	for _, stream := range made.streams.States() {
		found[stream.Key.Identity] = true
	}
	return found
}

// policiesInUse are those that the engine has, by id.
func (made *parts) policiesInUse() map[string]bool {
	there := map[string]bool{}
	for _, o := range made.controller.Owners() {
		there[o.Policy] = true
	}
	return there
}
