package writeconflict

import (
	"fmt"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Metadata is what is remembered of the writes of an owner's metadata, its record and its finalizer. A
// write is contested if the one before it does not stand any more. The zero value: nothing was
// written.
//
// What is held back is the record and the finalizer, and so, by the plan, all that needs them.
//
// Of a plan.OwnerMetadata only what is equal counts: Children may be a digest.
type Metadata struct {
	// Writer is who takes it back; empty if that is not known. The caller sets it, for the message.
	Writer string

	wrote   *plan.OwnerMetadata // as of the last write that was accepted
	stamp   time.Time           // of that write in managedFields; zero: it left none
	backoff Backoff
	record  bool // the record was taken back
	final   bool // the finalizer was
}

// MetadataWrite is a write of an owner's metadata, and how it was answered.
type MetadataWrite struct {
	// Text is equal for writes that want the same.
	Text string
	// Before is what the owner's metadata was, and After what it is then; nil: the write was
	// refused, as somebody was faster. After is kept, and not changed any more.
	Before plan.OwnerMetadata
	After  *plan.OwnerMetadata
	// Stamp is the time of the write in managedFields; zero: it left none.
	Stamp time.Time
}

// IsContested reports whether what was written last does not stand any more, and notes of what.
func (m *Metadata) IsContested(now plan.OwnerMetadata) bool {
	if m.wrote == nil || *m.wrote == now {
		return false
	}
	m.record = m.record || m.wrote.Children != now.Children
	m.final = m.final || m.wrote.Finalizer != now.Finalizer
	return true
}

// RecordWrite notes a write.
func (m *Metadata) RecordWrite(w MetadataWrite, wait Wait, now time.Time) {
	if m.backoff.IsOver(now) {
		m.record, m.final, m.Writer = false, false, ""
	}
	if m.IsContested(w.Before) {
		m.backoff.RecordWrite(w.Text, wait, now)
	}
	if w.After != nil {
		m.wrote, m.stamp = w.After, w.Stamp
	}
}

// WaitToWrite returns how long a contested write has to wait; 0: not at all. text is equal for writes
// that want the same.
func (m *Metadata) WaitToWrite(text string, now time.Time) time.Duration {
	return m.backoff.WaitToWrite(text, now)
}

// NeedsReport reports whether it is to be found out and said who takes the metadata back.
func (m *Metadata) NeedsReport(now time.Time) bool { return m.backoff.NeedsReport(now) }

// MarkReported notes that it was said who takes the metadata back.
func (m *Metadata) MarkReported() { m.backoff.MarkReported() }

// IsReported reports whether it was said who takes the metadata back.
func (m *Metadata) IsReported() bool { return m.backoff.IsReported() }

// WrittenAt returns the time of the last write in managedFields; zero: it left none.
func (m *Metadata) WrittenAt() time.Time { return m.stamp }

// TakenBack reports what was taken back.
func (m *Metadata) TakenBack() (record, finalizer bool) { return m.record, m.final }

// IsStanding reports whether the problem is to be said between two writes as well.
func (m *Metadata) IsStanding(now time.Time) bool { return m.IsReported() && !m.backoff.IsOver(now) }

// ConflictProblem returns what the owner says of its metadata that is fought over.
func (m *Metadata) ConflictProblem() plan.Problem {
	var what []string
	if m.record {
		what = append(what, "annotation "+v1alpha1.AnnotationChildren)
	}
	if m.final {
		what = append(what, "finalizer "+v1alpha1.FinalizerCleanup)
	}
	who := "another writer"
	if m.Writer != "" {
		who = fmt.Sprintf("field manager %q", m.Writer)
	}
	return plan.Problem{Reason: v1alpha1.ReasonContested, Terminal: true, Message: fmt.Sprintf(
		"%s takes the %s of this owner back, at once and again and again; it is written more and more rarely, and what needs it waits, until one of the two stops: have the other one leave it alone",
		who, strings.Join(what, " and the "))}
}

// EndIfOver forgets a conflict that was reported and is over, but not what was written last. If it was
// reported and is not over, at is when it may be; else it is zero.
func (m *Metadata) EndIfOver(now time.Time) (ended bool, at time.Time) {
	if ended, at = m.backoff.EndIfOver(now); ended {
		*m = Metadata{wrote: m.wrote, stamp: m.stamp}
	}
	return ended, at
}

// StaleVersion is a resourceVersion as of which a write was answered that the object has changed since.
// Whatever is written as of it is answered so again, until the stream shows a newer one: what happens
// to the children meanwhile is no reason to ask. The zero value: there is none.
//
// The answer may have been wrong (a webhook, a proxy), so that it is asked again after a wait that grows.
type StaleVersion struct {
	version  string
	failures int       // in a row, as of that version
	until    time.Time // nothing is written as of it before
}

// RecordConflict notes that a write as of a version was answered so.
func (s *StaleVersion) RecordConflict(version string, wait Wait, now time.Time) {
	if s.version != version {
		*s = StaleVersion{version: version}
	}
	s.until = now.Add(wait(s.failures))
	s.failures++
}

// HoldsBack reports whether nothing is to be written as of a version now.
func (s *StaleVersion) HoldsBack(version string, now time.Time) bool {
	return s.failures > 0 && s.version == version && now.Before(s.until)
}
