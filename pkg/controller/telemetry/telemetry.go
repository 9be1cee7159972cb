// Package telemetry measures and traces what a controller does: one span for each reconcile, plan and
// write, and samples for metrics. Nothing in either comes from the content of an object.
//
// The caller tells of each event of an owner (RecordEvent), takes it when the owner's turn comes
// (WithEvent), and begins a Reconcile. Nothing here waits.
package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Attributes of spans.
const (
	attrPolicy    = attribute.Key("ambit.policy")
	attrNamespace = attribute.Key("ambit.owner.namespace")
	attrOwner     = attribute.Key("ambit.owner.name")
	attrResult    = attribute.Key("ambit.result")
	attrVerb      = attribute.Key("ambit.verb")
	attrResource  = attribute.Key("ambit.resource")
	attrPlace     = attribute.Key("ambit.namespace")
	attrOutcome   = attribute.Key("ambit.outcome")
	attrActions   = attribute.Key("ambit.actions")
)

// Telemetry measures one controller. Create it with New. Safe for concurrent use.
type Telemetry struct {
	metrics Metrics // nil: nobody is told
	tracer  trace.Tracer
	now     func() time.Time
	events  fairqueue.FirstEvents
}

// New returns a Telemetry. Of metrics and tracer each may be nil: nobody is told, or nothing is traced.
func New(metrics Metrics, tracer trace.Tracer, now func() time.Time) *Telemetry {
	if tracer == nil {
		tracer = noop.NewTracerProvider().Tracer("")
	}
	return &Telemetry{metrics: metrics, tracer: tracer, now: now}
}

// IsMeasured reports whether somebody is told of what is measured.
func (t *Telemetry) IsMeasured() bool { return t.metrics != nil }

// RecordEvent remembers when an event of an owner came.
func (t *Telemetry) RecordEvent(key fairqueue.Key) {
	if t.metrics != nil && key.Name != "" {
		t.events.RecordEvent(key, t.now())
	}
}

type eventKey struct{}

// WithEvent returns a context that says when the first event came since the owner's last turn.
func (t *Telemetry) WithEvent(ctx context.Context, key fairqueue.Key) context.Context {
	if t.metrics == nil || key.Name == "" {
		return ctx
	}
	return context.WithValue(ctx, eventKey{}, t.events.TakeFirst(key))
}

// Reconcile measures one run over one owner. It belongs to one goroutine.
type Reconcile struct {
	telemetry *Telemetry
	policy    string
	began     time.Time
	// firstEvent is when the first event came that led to the reconcile, until a write has answered it;
	// zero: there was none.
	firstEvent time.Time
	steps      *atomic.Int64
	span       trace.Span // nil: the run is not measured
}

// BeginReconcile begins to measure a run over an owner. ctx is one of WithEvent.
func (t *Telemetry) BeginReconcile(ctx context.Context, key fairqueue.Key) (context.Context, *Reconcile) {
	r := &Reconcile{telemetry: t, policy: key.Policy, began: t.now(), steps: &atomic.Int64{}}
	r.firstEvent, _ = ctx.Value(eventKey{}).(time.Time)
	ctx, r.span = t.tracer.Start(meter.CountSteps(ctx, r.steps), "reconcile",
		trace.WithAttributes(attrPolicy.String(key.Policy), attrNamespace.String(key.Namespace), attrOwner.String(key.Name)))
	return ctx, r
}

// WritesOnly returns a run over what a policy itself ensures: of it only plans and writes are traced, and
// writes counted. EndReconcile does nothing.
func (t *Telemetry) WritesOnly(policy string) *Reconcile {
	return &Reconcile{telemetry: t, policy: policy}
}

// EndReconcile ends the run; result is one of Result*, and ResultError for an error.
func (r *Reconcile) EndReconcile(result string) {
	if r.span == nil {
		return
	}
	if result == ResultError {
		r.span.SetStatus(codes.Error, "")
	}
	r.span.SetAttributes(attrResult.String(result))
	if r.telemetry.metrics != nil {
		r.telemetry.metrics.ObserveReconcile(ReconcileSample{Policy: r.policy, Result: result, Took: r.telemetry.now().Sub(r.began), Steps: r.steps.Load()})
	}
	r.span.End()
}

// ObserveRights measures how long rights are missing for an owner: since is kept from one run to the
// next, and zero while none are.
func (r *Reconcile) ObserveRights(planned *plan.Plan, since *time.Time) {
	if r.telemetry.metrics == nil {
		return
	}
	switch isLacking := isLackingRights(planned); {
	case isLacking && since.IsZero():
		*since = r.telemetry.now()
	case !isLacking && !since.IsZero():
		r.telemetry.metrics.ObserveLatency(LatencySample{Policy: r.policy, For: ForRights, Took: r.telemetry.now().Sub(*since)})
		*since = time.Time{}
	}
}

// isLackingRights reports whether a plan is held up for want of a right.
func isLackingRights(planned *plan.Plan) bool {
	for _, b := range planned.Blockers {
		if len(b.Denied) > 0 {
			return true
		}
	}
	return false
}

// BeginPlan begins the span of a plan. The caller ends it with the plan.
func (r *Reconcile) BeginPlan(ctx context.Context) (context.Context, func(*plan.Plan)) {
	ctx, span := r.telemetry.tracer.Start(ctx, "plan")
	return ctx, func(planned *plan.Plan) {
		span.SetAttributes(attrActions.Int(len(planned.Actions)))
		span.End()
	}
}

// BeginWrite begins the span of a write. The caller ends it with what came of it, one of Outcome*. The
// first write of a run ends the wait of who caused the event.
func (r *Reconcile) BeginWrite(ctx context.Context, verb, resource, namespace string) (context.Context, func(outcome string)) {
	ctx, span := r.telemetry.tracer.Start(ctx, "write",
		trace.WithAttributes(attrVerb.String(verb), attrResource.String(resource), attrPlace.String(namespace)))
	return ctx, func(outcome string) {
		if r.telemetry.metrics != nil && !r.firstEvent.IsZero() {
			r.telemetry.metrics.ObserveLatency(LatencySample{Policy: r.policy, For: ForWrite, Took: r.telemetry.now().Sub(r.firstEvent)})
			r.firstEvent = time.Time{}
		}
		span.SetAttributes(attrOutcome.String(outcome))
		if outcome == OutcomeRefused {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// ObserveWrite counts a write for a child that was answered.
func (r *Reconcile) ObserveWrite(resource schema.GroupResource, outcome string) {
	if r.telemetry.metrics != nil {
		r.telemetry.metrics.ObserveWrite(WriteSample{Policy: r.policy, Resource: resource, Outcome: outcome})
	}
}

// OwnerOutcome says how a write of an owner was taken.
func OwnerOutcome(isRefused bool) string {
	if isRefused {
		return OutcomeRefused
	}
	return OutcomeUpdated
}
