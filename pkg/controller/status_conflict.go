package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/internal/status"
)

// statusConflict is what is remembered of an owner whose status somebody else writes over, so that
// two who want different things do not answer each other without a pause. A write is contested
// if what we wrote before it does not stand any more. The zero value: none was.
//
// The first contested write is done at once. After each, the next one waits longer, whatever
// it has to say, so that there is no way round by wanting now this and now that; but what was
// not said yet never waits for more than contestNews.
type statusConflict struct {
	writes int       // contested ones in a row
	what   string    // the last one: equal for writes that say the same
	at     time.Time // of the last one
	until  time.Time // the same is not written before
	told   bool      // who else writes was logged
}

const (
	// contestNews is how long, after a contested write, one that says something else waits at
	// most.
	contestNews = 5 * time.Second
	// contestOver is how long our word has to stand until it was the last one. It is longer
	// than a contested write ever waits.
	contestOver = 2 * retryMax
	// contestTold is after how many contested writes it is logged: less is somebody who tries
	// something.
	contestTold = 3
)

// waitToWrite is how long a contested write has to wait; 0: not at all.
func (c *statusConflict) waitToWrite(what string, now time.Time) time.Duration {
	if c.isOver(now) {
		return 0
	}
	until := c.until
	if news := c.at.Add(contestNews); c.what != what && news.Before(until) {
		until = news
	}
	return max(0, until.Sub(now))
}

// recordWrite notes a contested write. wait is Controller.backoffAfter.
func (c *statusConflict) recordWrite(what string, wait func(failures int) time.Duration, now time.Time) {
	if c.isOver(now) {
		*c = statusConflict{}
	}
	c.writes++
	c.what, c.at, c.until = what, now, now.Add(wait(c.writes+1))
}

func (c *statusConflict) isOver(now time.Time) bool { return now.Sub(c.at) >= contestOver }

// statusConflictOf is what a write says, if what we wrote before does not stand any more; else it is
// empty. That another controller has noted the owner's latest generation before us is no
// contest.
func (p *ownerReconciler) statusConflictOf(old, next map[string]any) string {
	if p.state.status.kept == nil {
		return ""
	}
	kept, now := status.ManagedPart(p.program, p.state.status.kept), status.ManagedPart(p.program, old)
	if seen, ok := now["observedGeneration"]; ok && seen == p.owner.GetGeneration() {
		kept["observedGeneration"] = seen
	}
	if status.Equal(kept, now) {
		return ""
	}
	return digestOf(statusText(status.ManagedPart(p.program, next)))
}

// recordStatusConflict notes how a contested write was answered. One that came too late, as the owner
// has changed again, counts as well; what it was to say is still to be said.
func (p *ownerReconciler) recordStatusConflict(what string, err error) {
	c := &p.state.statusConflict
	switch {
	case what == "":
	case err == nil:
		c.recordWrite(what, p.controller.backoffAfter, p.controller.now())
	case apierrors.IsConflict(err):
		c.recordWrite(c.what, p.controller.backoffAfter, p.controller.now())
	}
}

// isStatusHeldBack says whether a write has to wait because it is contested.
func (p *ownerReconciler) isStatusHeldBack(ctx context.Context, what string, owners dynamic.ResourceInterface) bool {
	if what == "" {
		return false
	}
	p.reportStatusConflict(ctx, owners)
	now := p.controller.now()
	wait := p.state.statusConflict.waitToWrite(what, now)
	if wait == 0 {
		return false
	}
	p.requeueAt(now.Add(wait))
	return true
}

// reportStatusConflict logs once who else writes the status, when another write is contested: also if
// it need not wait, for of two who write in turn it may always be the other one who waits. It
// asks the API server, for the cache does not say it.
func (p *ownerReconciler) reportStatusConflict(ctx context.Context, owners dynamic.ResourceInterface) {
	c := &p.state.statusConflict
	if c.told || c.writes < contestTold || c.isOver(p.controller.now()) || ctx.Err() != nil {
		return
	}
	c.told = true
	log := ctrllog.FromContext(ctx)
	managers, err := apply.LatestWriters(ctx, owners, p.owner, "status", p.manager)
	switch {
	case err != nil:
		log = log.WithValues("unknown", err.Error())
	case len(managers) > 0 && managers[0] == p.manager:
		log = log.WithValues("managers", managers, "hint", "it is another process with a policy of this name, or removes fields, which leaves no trace")
	default:
		log = log.WithValues("managers", managers)
	}
	log.Info("somebody else writes the owner's status again and again; it is mended more and more rarely")
}

// confirmStatus notes that the owner's status is as it is to be, and logs that a contest is over.
func (p *ownerReconciler) confirmStatus(ctx context.Context) {
	c, now := &p.state.statusConflict, p.controller.now()
	switch {
	case !c.told:
	case c.isOver(now):
		*c = statusConflict{}
		ctrllog.FromContext(ctx).Info("nobody else writes the owner's status any more")
	default:
		p.requeueAt(c.at.Add(contestOver))
	}
}
