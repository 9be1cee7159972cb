package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// markContest is what is remembered of the writes of an owner's metadata, so that Ambit and
// somebody who takes them back do not answer each other without a pause. A write is contested if
// the one before it does not stand any more. The zero value: nothing was written.
//
// What is held back is the record and the finalizer, and so, by the plan, all that needs them.
type markContest struct {
	wrote   *plan.OwnerMetadata // as markOf has it, as of the last write that was accepted
	stamp   time.Time           // of that write in managedFields; zero: it left none
	backoff statusConflict
	record  bool   // the record was taken back
	final   bool   // the finalizer was
	by      string // who did, as told; empty if it is not known
}

// isContested reports whether what was written last does not stand any more, and notes of what.
func (c *markContest) isContested(now plan.OwnerMetadata) bool {
	if c.wrote == nil || *c.wrote == now {
		return false
	}
	c.record = c.record || c.wrote.Children != now.Children
	c.final = c.final || c.wrote.Finalizer != now.Finalizer
	return true
}

// write notes a write over what the owner's metadata was before. after is what it is then; nil: it
// was refused, as somebody was faster. what is equal for equal wishes, and wait is
// Controller.backoffAfter.
func (c *markContest) write(before plan.OwnerMetadata, after *plan.OwnerMetadata, what string, wait func(failures int) time.Duration, now time.Time) {
	if c.backoff.isOver(now) {
		c.record, c.final, c.by = false, false, ""
	}
	if c.isContested(before) {
		c.backoff.recordWrite(what, wait, now)
	}
	if after != nil {
		c.wrote = after
	}
}

// problem is what the owner says of its metadata that is fought over.
func (c *markContest) problem() plan.Problem {
	var what []string
	if c.record {
		what = append(what, "annotation "+v1alpha1.AnnotationChildren)
	}
	if c.final {
		what = append(what, "finalizer "+v1alpha1.FinalizerCleanup)
	}
	who := "another writer"
	if c.by != "" {
		who = fmt.Sprintf("field manager %q", c.by)
	}
	return plan.Problem{Reason: v1alpha1.ReasonContested, Terminal: true, Message: fmt.Sprintf(
		"%s takes the %s of this owner back, at once and again and again; it is written more and more rarely, and what needs it waits, until one of the two stops: have the other one leave it alone",
		who, strings.Join(what, " and the "))}
}

// markOf is what the owner's metadata says, with the digest of the record: that may be long.
func markOf(owner *unstructured.Unstructured) plan.OwnerMetadata {
	return plan.OwnerMetadata{Finalizer: hasFinalizer(owner), Children: digestOf(owner.GetAnnotations()[v1alpha1.AnnotationChildren])}
}

// holdsMark reports whether the owner's metadata is not to be written now because others take it
// back; did: the next plan has to say so.
func (p *ownerReconciler) holdsMark(ctx context.Context, mark plan.OwnerMetadata, owner discovery.Resource) (held, did bool, err error) {
	c, now := &p.state.marks, p.controller.now()
	if !c.isContested(markOf(p.owner)) {
		return false, false, nil
	}
	if err := p.tellMarkContest(ctx, owner); err != nil {
		return false, false, err
	}
	wait := c.backoff.waitToWrite(digestOf(markText(mark)), now)
	if wait == 0 {
		return false, false, nil
	}
	p.waits = true
	p.requeueAt(now.Add(wait))
	if c.backoff.told {
		p.problems[plan.KeyOwner] = c.problem()
	}
	return true, c.backoff.told, nil
}

// noteMark notes how a write of the owner's metadata was answered.
func (p *ownerReconciler) noteMark(before, wish plan.OwnerMetadata, outcome apply.Outcome) {
	c, what, now := &p.state.marks, digestOf(markText(wish)), p.controller.now()
	switch {
	case outcome.Stale:
		c.write(before, nil, what, p.controller.backoffAfter, now)
		return
	case outcome.Object == nil:
		return
	}
	after := markOf(outcome.Object)
	c.write(before, &after, what, p.controller.backoffAfter, now)
	c.stamp = time.Time{}
	for _, entry := range outcome.Object.GetManagedFields() {
		if entry.Manager == p.manager && entry.Subresource == "" && entry.Time != nil {
			c.stamp = entry.Time.Time
		}
	}
}

// tellMarkContest says once, in the log and in an Event, who takes back the owner's metadata.
func (p *ownerReconciler) tellMarkContest(ctx context.Context, owner discovery.Resource) error {
	c := &p.state.marks
	if c.backoff.told || c.backoff.writes < contestTold || c.backoff.isOver(p.controller.now()) || ctx.Err() != nil {
		return nil
	}
	client, err := p.controller.options.Clients(p.identity)
	if err != nil {
		return err
	}
	c.backoff.told = true
	log := ctrllog.FromContext(ctx)
	managers, err := apply.WritersSince(ctx, client.Resource(owner.GVR).Namespace(p.owner.GetNamespace()), p.owner, p.manager, c.stamp)
	switch {
	case err != nil:
		log = log.WithValues("unknown", err.Error())
	case len(managers) == 0 || managers[0] == p.manager:
		log = log.WithValues("managers", managers, "hint", "who removes fields leaves no trace")
	default:
		c.by = managers[0]
		log = log.WithValues("managers", managers)
	}
	problem := c.problem()
	log.Info("somebody keeps taking back the owner's metadata; it is mended more and more rarely", "record", c.record, "finalizer", c.final)
	p.makeEvent(problem.Reason, problem.Message)
	return nil
}

// endMarkContest logs that nobody takes back the owner's metadata any more, or has the owner looked
// at again when that may be so.
func (p *ownerReconciler) endMarkContest(ctx context.Context) {
	c, now := &p.state.marks, p.controller.now()
	switch {
	case !c.backoff.told:
	case c.backoff.isOver(now):
		*c = markContest{wrote: c.wrote, stamp: c.stamp}
		ctrllog.FromContext(ctx).Info("nobody takes back the owner's metadata any more")
	default:
		p.requeueAt(c.backoff.at.Add(contestOver))
	}
}
