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

// metadataOf is what the owner's metadata says, with the digest of the record: that may be long.
func metadataOf(owner *unstructured.Unstructured) plan.OwnerMetadata {
	return plan.OwnerMetadata{Finalizer: hasFinalizer(owner), Children: digestOf(owner.GetAnnotations()[v1alpha1.AnnotationChildren])}
}

// isMetadataHeldBack reports whether the owner's metadata is not to be written now because others take it
// back; did: the next plan has to say so.
func (o ownerWriter) isMetadataHeldBack(ctx context.Context, mark plan.OwnerMetadata, owner discovery.Resource) (held, did bool, err error) {
	c, now := o.state.metadata, o.Now()
	if c == nil || !c.IsContested(metadataOf(o.owner)) {
		return false, false, nil
	}
	if err := o.reportMetadataConflict(ctx, owner); err != nil {
		return false, false, err
	}
	wait := c.WaitToWrite(digestOf(metadataText(mark)), now)
	if wait == 0 {
		return false, false, nil
	}
	o.waits = true
	o.requeueAt(now.Add(wait))
	if c.IsReported() {
		o.problems[plan.KeyOwner] = c.ConflictProblem()
	}
	return true, c.IsReported(), nil
}

// recordMetadataWrite notes how a write of the owner's metadata was answered.
func (o ownerWriter) recordMetadataWrite(before, wish plan.OwnerMetadata, outcome apply.Outcome) {
	w := writeconflict.MetadataWrite{Text: digestOf(metadataText(wish)), Before: before}
	switch {
	case outcome.Stale:
	case outcome.Object == nil:
		return
	default:
		after := metadataOf(outcome.Object)
		w.After = &after
		for _, entry := range outcome.Object.GetManagedFields() {
			if entry.Manager == o.Manager && entry.Subresource == "" && entry.Time != nil {
				w.Stamp = entry.Time.Time
			}
		}
	}
	if o.state.metadata == nil {
		o.state.metadata = &writeconflict.Metadata{}
	}
	o.state.metadata.RecordWrite(w, o.Backoff, o.Now())
}

// reportMetadataConflict says once, in the log and in an Event, who takes back the owner's metadata.
func (o ownerWriter) reportMetadataConflict(ctx context.Context, owner discovery.Resource) error {
	c := o.state.metadata
	if !c.NeedsReport(o.Now()) || ctx.Err() != nil {
		return nil
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	c.MarkReported()
	log := ctrllog.FromContext(ctx)
	managers, err := apply.WritersSince(ctx, client.Resource(owner.GVR).Namespace(o.owner.GetNamespace()), o.owner, o.Manager, c.WrittenAt())
	switch {
	case err != nil:
		log = log.WithValues("unknown", err.Error())
	case len(managers) == 0 || managers[0] == o.Manager:
		log = log.WithValues("managers", managers, "hint", "who removes fields leaves no trace")
	default:
		c.Writer = managers[0]
		log = log.WithValues("managers", managers)
	}
	problem := c.ConflictProblem()
	record, finalizer := c.TakenBack()
	log.Info("somebody keeps taking back the owner's metadata; it is mended more and more rarely", "record", record, "finalizer", finalizer)
	o.makeEvent(problem.Reason, problem.Message)
	return nil
}

// endMetadataConflict logs that nobody takes back the owner's metadata any more, or has the owner looked
// at again when that may be so.
func (o ownerWriter) endMetadataConflict(ctx context.Context) {
	if o.state.metadata == nil {
		return
	}
	ended, at := o.state.metadata.EndIfOver(o.Now())
	if ended {
		ctrllog.FromContext(ctx).Info("nobody takes back the owner's metadata any more")
	}
	o.requeueAt(at)
}

// metadataText is equal for marks that say the same.
func metadataText(mark plan.OwnerMetadata) string {
	if mark.Finalizer {
		return "finalizer " + mark.Children
	}
	return mark.Children
}

func hasFinalizer(owner *unstructured.Unstructured) bool {
	return slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup)
}
