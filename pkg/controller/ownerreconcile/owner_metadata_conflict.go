package ownerreconcile

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// markOf is what the owner's metadata says, with the digest of the record: that may be long.
func markOf(owner *unstructured.Unstructured) plan.OwnerMetadata {
	return plan.OwnerMetadata{Finalizer: hasFinalizer(owner), Children: digestOf(owner.GetAnnotations()[v1alpha1.AnnotationChildren])}
}

// holdsMark reports whether the owner's metadata is not to be written now because others take it
// back; did: the next plan has to say so.
func (p *Reconciler) holdsMark(ctx context.Context, mark plan.OwnerMetadata, owner discovery.Resource) (held, did bool, err error) {
	c, now := &p.state.metadata, p.Now()
	if !c.IsContested(markOf(p.owner)) {
		return false, false, nil
	}
	if err := p.tellMarkContest(ctx, owner); err != nil {
		return false, false, err
	}
	wait := c.WaitToWrite(digestOf(markText(mark)), now)
	if wait == 0 {
		return false, false, nil
	}
	p.waits = true
	p.requeueAt(now.Add(wait))
	if c.IsReported() {
		p.problems[plan.KeyOwner] = c.Problem()
	}
	return true, c.IsReported(), nil
}

// noteMark notes how a write of the owner's metadata was answered.
func (p *Reconciler) noteMark(before, wish plan.OwnerMetadata, outcome apply.Outcome) {
	w := writeconflict.MetadataWrite{Text: digestOf(markText(wish)), Before: before}
	switch {
	case outcome.Stale:
	case outcome.Object == nil:
		return
	default:
		after := markOf(outcome.Object)
		w.After = &after
		for _, entry := range outcome.Object.GetManagedFields() {
			if entry.Manager == p.Manager && entry.Subresource == "" && entry.Time != nil {
				w.Stamp = entry.Time.Time
			}
		}
	}
	p.state.metadata.RecordWrite(w, p.Backoff, p.Now())
}

// tellMarkContest says once, in the log and in an Event, who takes back the owner's metadata.
func (p *Reconciler) tellMarkContest(ctx context.Context, owner discovery.Resource) error {
	c := &p.state.metadata
	if !c.NeedsReport(p.Now()) || ctx.Err() != nil {
		return nil
	}
	client, err := p.Client()
	if err != nil {
		return err
	}
	c.MarkReported()
	log := ctrllog.FromContext(ctx)
	managers, err := apply.WritersSince(ctx, client.Resource(owner.GVR).Namespace(p.owner.GetNamespace()), p.owner, p.Manager, c.WrittenAt())
	switch {
	case err != nil:
		log = log.WithValues("unknown", err.Error())
	case len(managers) == 0 || managers[0] == p.Manager:
		log = log.WithValues("managers", managers, "hint", "who removes fields leaves no trace")
	default:
		c.Writer = managers[0]
		log = log.WithValues("managers", managers)
	}
	problem := c.Problem()
	record, finalizer := c.TakenBack()
	log.Info("somebody keeps taking back the owner's metadata; it is mended more and more rarely", "record", record, "finalizer", finalizer)
	p.makeEvent(problem.Reason, problem.Message)
	return nil
}

// endMarkContest logs that nobody takes back the owner's metadata any more, or has the owner looked
// at again when that may be so.
func (p *Reconciler) endMarkContest(ctx context.Context) {
	ended, at := p.state.metadata.EndIfOver(p.Now())
	if ended {
		ctrllog.FromContext(ctx).Info("nobody takes back the owner's metadata any more")
	}
	p.requeueAt(at)
}

// markText is equal for marks that say the same.
func markText(mark plan.OwnerMetadata) string {
	if mark.Finalizer {
		return "finalizer " + mark.Children
	}
	return mark.Children
}

func hasFinalizer(owner *unstructured.Unstructured) bool {
	return slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup)
}
