// Package statuswriter reports how policies fare, where the policies stand: finalizers, statuses, annotations,
// events, and the log.
//
// Once a second, and after each decision, the Writer compares the status of each policy with what its object says,
// and patches the difference. It is quiet: a status that another Ambit wrote before a restart is replaced only
// when the new one has been the same for a while, and what is only on its way is written late. An API
// server that does not answer holds up one write of a pass, and nothing else of Ambit.
package statuswriter

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

const (
	// WriteInterval is how often reports are compared with what stands on the objects, and
	// how often one object is written at most.
	WriteInterval = time.Second
	// writeTimeout bounds one write; maxBackoff is the longest wait after writes that failed.
	writeTimeout = 10 * time.Second
	maxBackoff   = 30 * time.Second
)

// Reporter reports on the policies that are run. Both methods are called about once a second.
type Reporter interface {
	// Reports returns one report for each policy.
	Reports() []policystatus.Report
	// RetiredOf returns how many owners a policy that is cleaned up after has left, as far as
	// they are seen, and whether all is done.
	RetiredOf(policy string) (left int, done bool)
}

// Objects are the objects of one kind that policies stand in. They are safe for concurrent use.
type Objects interface {
	// FindObject returns the object of an origin as it was last seen; nil if it is not there. It is
	// shared: nobody changes it.
	FindObject(manifest.Origin) *unstructured.Unstructured
	// AnnotatedOrigins returns the objects with the annotation of the statuses of policies.
	AnnotatedOrigins() []manifest.Origin
	// MayPatch reports whether an object, or its subresource if that is not "", may be patched,
	// and whether that is known yet.
	MayPatch(object *unstructured.Unstructured, subresource string) (allowed, known bool)
	// PatchObject sends a merge patch of what MayPatch allows. The error is that of the API server.
	PatchObject(ctx context.Context, object *unstructured.Unstructured, subresource string, patch []byte) error
	// RecordEvent makes an event of an object, if that is permitted.
	RecordEvent(object *unstructured.Unstructured, eventType, reason, note string)
}

// Options are the inputs of New.
type Options struct {
	// Reporter is required.
	Reporter Reporter
	// Objects has the kinds that are written on; nothing is written on policies of others.
	Objects map[manifest.Kind]Objects
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
	// Clock is required.
	Clock clock.Clock
}

// Writer reports the status of each policy where the policy stands. All methods but Start are
// safe for concurrent use.
type Writer struct {
	o    Options
	wake chan struct{} // holds one

	mu   sync.Mutex         // guards last
	last *registry.Decision // nil: there was none yet

	// The fields below belong to the goroutine of Start.
	attempts       map[written]writeAttempt
	debouncer      debouncer
	reporter       conditionReporter
	logged         map[string]bool // resources of which it was logged that they may not be patched
	nextWrite      time.Time       // when the next write that was put off is due; zero: none was
	apiUnavailable bool            // the API server did not answer a write of this pass
}

// New returns a writer that has written nothing.
func New(o Options) *Writer {
	return &Writer{
		o: o, wake: make(chan struct{}, 1), attempts: map[written]writeAttempt{}, logged: map[string]bool{},
		debouncer: debouncer{clock: o.Clock, pending: map[manifest.Origin]pendingText{}},
		reporter: conditionReporter{
			objects: o.Objects, logger: o.Logger, clock: o.Clock,
			reported: map[registry.Key]policystatus.Reported{}, permissions: map[registry.Key]permissionReport{},
		},
	}
}

// TakeDecision gives the writer a decision, which may be the one before.
func (w *Writer) TakeDecision(d registry.Decision) {
	w.mu.Lock()
	w.last = &d
	w.mu.Unlock()
	wakeup.SendWake(w.wake)
}

// Start writes until ctx ends. It may be called once.
func (w *Writer) Start(ctx context.Context) {
	for ctx.Err() == nil {
		wait := WriteInterval
		if !w.nextWrite.IsZero() {
			wait = min(wait, max(w.nextWrite.Sub(w.o.Clock.Now()), time.Millisecond))
		}
		if wakeup.WaitFor(ctx, w.o.Clock, wait, w.wake); ctx.Err() == nil {
			w.nextWrite = time.Time{}
			w.writeAll(ctx)
		}
	}
}

// wakeAt has the next pass begin at a time, or sooner.
func (w *Writer) wakeAt(due time.Time) {
	if w.nextWrite.IsZero() || due.Before(w.nextWrite) {
		w.nextWrite = due
	}
}

// writeAll compares the status of each policy with what stands on its object, once, and writes the
// differences. It waits for one write at most that is not answered. The others are left for the
// next pass, which has newer reports.
func (w *Writer) writeAll(ctx context.Context) {
	w.mu.Lock()
	d := w.last
	w.mu.Unlock()
	if d == nil {
		return
	}
	w.apiUnavailable = false
	statuses := w.ReportStatuses(d.Policies)
	summaries := map[manifest.Origin][]policystatus.Summary{}
	for i, p := range d.Policies {
		w.reporter.reportReady(p, statuses[i])
		w.reporter.reportPermitted(p, statuses[i])
		switch p.Origin.Kind {
		case manifest.CustomResource:
			w.writeResource(ctx, p, statuses[i])
		case manifest.ConfigMap:
			object := p.Origin.WithoutKey()
			summaries[object] = append(summaries[object], policystatus.SummaryOf(p, statuses[i]))
		}
	}
	w.writeAnnotations(ctx, summaries)
	w.forgetGone(d.Policies)
}

// ReportStatuses returns the status of each of the policies, as they are reported now.
func (w *Writer) ReportStatuses(policies []registry.PolicyState) []policystatus.Status {
	list := w.o.Reporter.Reports()
	reports := make(map[string]*policystatus.Report, len(list))
	for i := range list {
		reports[list[i].Policy] = &list[i]
	}
	statuses := make([]policystatus.Status, len(policies))
	for i, p := range policies {
		left := 0
		if p.Retiring {
			left, _ = w.o.Reporter.RetiredOf(p.ID)
		}
		statuses[i] = policystatus.StatusOf(p, reports[p.ID], left)
	}
	return statuses
}

// forgetGone drops what is remembered of policies and objects that are gone.
func (w *Writer) forgetGone(policies []registry.PolicyState) {
	known := map[registry.Key]bool{}
	for _, p := range policies {
		known[p.Key] = true
	}
	isGone := func(origin manifest.Origin) bool { return w.objectOf(origin) == nil }
	w.reporter.forgetGone(known)
	w.debouncer.forgetGone(isGone)
	maps.DeleteFunc(w.attempts, func(what written, _ writeAttempt) bool { return isGone(what.origin) })
}

// objectOf returns the object of an origin; nil if it is not there, or its kind is not read.
func (w *Writer) objectOf(origin manifest.Origin) *unstructured.Unstructured {
	objects := w.o.Objects[origin.Kind]
	if objects == nil {
		return nil
	}
	return objects.FindObject(origin)
}
