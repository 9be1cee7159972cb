package ownerinputs

import (
	"context"
	"time"

	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Probe is how to look for children of an owner that is not wanted.
type Probe struct {
	Interests []informer.Interest
	// Wait is how long to wait until it is known what is permitted; 0: it is known.
	Wait time.Duration
	// Blind are the permissions under which not all of it may be looked at; nil: all may.
	Blind *permissionset.Set
}

// PlanProbe returns the streams to look at for children that an ownerReference ties to an owner, in its
// own place: where they are permitted, and those of all namespaces where everything is.
func (p *Planner) PlanProbe(ctx context.Context, subject Subject) (probe Probe) {
	_, all := p.Permissions.HaveEverything()
	l := p.newLayout(subject)
	l.cleans = true
	l.findQueries(ctx, plan.Snapshot{Owner: subject.Owner, Retire: true})
	for _, q := range l.childQueries {
		if !q.elsewhere {
			l.uses.AddUse(q.Namespace, placeuses.Use{Part: q.Child, Optional: true})
		}
	}
	if !all {
		p.Permissions.SetUses(subject.Name, l.uses)
	}
	for _, q := range l.childQueries {
		place := q.Namespace
		if all {
			place = allNamespaces
		}
		answer, pending := p.Permissions.ForUse(q.Namespace)
		switch {
		case q.elsewhere:
		case pending > 0:
			probe.Wait = max(probe.Wait, pending)
		case answer.MayWatch(q.kind.GVR.GroupResource()):
			probe.Interests = append(probe.Interests, l.childInterest(q, place))
		default:
			probe.Blind = answer
		}
	}
	return probe
}
