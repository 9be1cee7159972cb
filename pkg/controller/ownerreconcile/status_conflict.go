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
func (w statusWriter) statusConflictOf(old, next map[string]any) string {
	written := w.state.status.kept.UnpackMap(nil)
	if written == nil {
		return ""
	}
	kept, now := status.ManagedPart(w.Program, written), status.ManagedPart(w.Program, old)
	if seen, ok := now["observedGeneration"]; ok && seen == w.owner.GetGeneration() {
		kept["observedGeneration"] = seen
	}
	if status.Equal(kept, now) {
		return ""
	}
	return digestOf(statusText(status.ManagedPart(w.Program, next)))
}

// recordStatusConflict notes how a contested write was answered. One that came too late, as the owner
// has changed again, counts as well; what it was to say is still to be said.
func (w statusWriter) recordStatusConflict(what string, err error) {
	c := &w.state.statusConflict
	switch {
	case what == "":
	case err == nil:
		c.RecordWrite(what, w.Backoff, w.Now())
	case apierrors.IsConflict(err):
		c.RecordLostWrite(w.Backoff, w.Now())
	}
}

// isStatusHeldBack says whether a write has to wait because it is contested.
func (w statusWriter) isStatusHeldBack(ctx context.Context, what string, owners dynamic.ResourceInterface) bool {
	if what == "" {
		return false
	}
	w.reportStatusConflict(ctx, owners)
	now := w.Now()
	wait := w.state.statusConflict.WaitToWrite(what, now)
	if wait == 0 {
		return false
	}
	w.requeueAt(now.Add(wait))
	return true
}

// reportStatusConflict logs once who else writes the status, when another write is contested: also if
// it need not wait, for of two who write in turn it may always be the other one who waits. It
// asks the API server, for the cache does not say it.
func (w statusWriter) reportStatusConflict(ctx context.Context, owners dynamic.ResourceInterface) {
	c := &w.state.statusConflict
	if !c.NeedsReport(w.Now()) || ctx.Err() != nil {
		return
	}
	c.MarkReported()
	log := ctrllog.FromContext(ctx)
	managers, err := apply.LatestWriters(ctx, owners, w.owner, "status", w.Manager)
	switch {
	case err != nil:
		log = log.WithValues("unknown", err.Error())
	case len(managers) > 0 && managers[0] == w.Manager:
		log = log.WithValues("managers", managers, "hint", "it is another process with a policy of this name, or removes fields, which leaves no trace")
	default:
		log = log.WithValues("managers", managers)
	}
	log.Info("somebody else writes the owner's status again and again; it is mended more and more rarely")
}

// confirmStatus notes that the owner's status is as it is to be, and logs that a contest is over.
func (w statusWriter) confirmStatus(ctx context.Context) {
	ended, at := w.state.statusConflict.EndIfOver(w.Now())
	if ended {
		ctrllog.FromContext(ctx).Info("nobody else writes the owner's status any more")
	}
	w.requeueAt(at)
}

// statusText is equal for statuses that say the same.
func statusText(next map[string]any) string {
	text, _ := json.Marshal(status.WithoutTimes(next)) // JSON-like by construction
	return string(text)
}
