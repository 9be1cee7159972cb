package ownerreconcile

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/internal/status"
)

// statusConflictOf is what a write says, if what we wrote before does not stand any more; else it is
// empty. That another controller has noted the owner's latest generation before us is no
// contest.
func (p *Reconciler) statusConflictOf(old, next map[string]any) string {
	if p.state.status.kept == nil {
		return ""
	}
	kept, now := status.ManagedPart(p.Program, p.state.status.kept), status.ManagedPart(p.Program, old)
	if seen, ok := now["observedGeneration"]; ok && seen == p.owner.GetGeneration() {
		kept["observedGeneration"] = seen
	}
	if status.Equal(kept, now) {
		return ""
	}
	return digestOf(statusText(status.ManagedPart(p.Program, next)))
}

// recordStatusConflict notes how a contested write was answered. One that came too late, as the owner
// has changed again, counts as well; what it was to say is still to be said.
func (p *Reconciler) recordStatusConflict(what string, err error) {
	c := &p.state.statusConflict
	switch {
	case what == "":
	case err == nil:
		c.RecordWrite(what, p.Backoff, p.Now())
	case apierrors.IsConflict(err):
		c.RecordLostWrite(p.Backoff, p.Now())
	}
}

// isStatusHeldBack says whether a write has to wait because it is contested.
func (p *Reconciler) isStatusHeldBack(ctx context.Context, what string, owners dynamic.ResourceInterface) bool {
	if what == "" {
		return false
	}
	p.reportStatusConflict(ctx, owners)
	now := p.Now()
	wait := p.state.statusConflict.WaitToWrite(what, now)
	if wait == 0 {
		return false
	}
	p.requeueAt(now.Add(wait))
	return true
}

// reportStatusConflict logs once who else writes the status, when another write is contested: also if
// it need not wait, for of two who write in turn it may always be the other one who waits. It
// asks the API server, for the cache does not say it.
func (p *Reconciler) reportStatusConflict(ctx context.Context, owners dynamic.ResourceInterface) {
	c := &p.state.statusConflict
	if !c.NeedsReport(p.Now()) || ctx.Err() != nil {
		return
	}
	c.MarkReported()
	log := ctrllog.FromContext(ctx)
	managers, err := apply.LatestWriters(ctx, owners, p.owner, "status", p.Manager)
	switch {
	case err != nil:
		log = log.WithValues("unknown", err.Error())
	case len(managers) > 0 && managers[0] == p.Manager:
		log = log.WithValues("managers", managers, "hint", "it is another process with a policy of this name, or removes fields, which leaves no trace")
	default:
		log = log.WithValues("managers", managers)
	}
	log.Info("somebody else writes the owner's status again and again; it is mended more and more rarely")
}

// confirmStatus notes that the owner's status is as it is to be, and logs that a contest is over.
func (p *Reconciler) confirmStatus(ctx context.Context) {
	ended, at := p.state.statusConflict.EndIfOver(p.Now())
	if ended {
		ctrllog.FromContext(ctx).Info("nobody else writes the owner's status any more")
	}
	p.requeueAt(at)
}

// statusText is equal for statuses that say the same.
func statusText(next map[string]any) string {
	text, _ := json.Marshal(status.WithoutTimes(next)) // JSON-like by construction
	return string(text)
}
