package controller

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Attributes of spans. Nothing in a span comes from the content of an object.
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

type eventKey struct{}

// withEvent returns a context that says when the first event of a reconcile came.
func (e *Controller) withEvent(ctx context.Context, key Key) context.Context {
	if e.options.Metrics == nil || key.Name == "" {
		return ctx
	}
	return context.WithValue(ctx, eventKey{}, e.events.Take(key))
}

// recordEvent remembers when an event came, if somebody measures.
func (e *Controller) recordEvent(key Key) {
	if e.options.Metrics != nil && key.Name != "" {
		e.events.Record(key, e.now())
	}
}

// measureReconcile begins to count and trace a reconcile. The caller ends it with the reconcile's error.
func (p *ownerReconciler) measureReconcile(ctx context.Context) (_ context.Context, end func(error)) {
	name, began := p.state.subscriber.name, p.controller.now()
	p.firstEvent, _ = ctx.Value(eventKey{}).(time.Time)
	steps := &atomic.Int64{}
	ctx, span := p.controller.tracer.Start(meter.CountSteps(ctx, steps), "reconcile",
		trace.WithAttributes(attrPolicy.String(p.id), attrNamespace.String(name.Namespace), attrOwner.String(name.Name)))
	return ctx, func(err error) {
		defer span.End()
		result := ResultWaiting
		switch {
		case err != nil:
			result = ResultError
			span.SetStatus(codes.Error, "")
		case p.lastPlan != nil:
			result = resultOf(healthOf(p.lastPlan))
		}
		span.SetAttributes(attrResult.String(result))
		if metrics := p.controller.options.Metrics; metrics != nil {
			metrics.ObserveReconcile(ReconcileSample{Policy: p.id, Result: result, Took: p.controller.now().Sub(began), Steps: steps.Load()})
			p.observeMissingRights(metrics)
		}
	}
}

// observeMissingRights measures how long rights were missing for the owner.
func (p *ownerReconciler) observeMissingRights(metrics Metrics) {
	switch lost := p.state.rightsMissingSince; {
	case p.lastPlan == nil:
	case isLacking(p.lastPlan) && lost.IsZero():
		p.state.rightsMissingSince = p.controller.now()
	case !isLacking(p.lastPlan) && !lost.IsZero():
		p.state.rightsMissingSince = time.Time{}
		metrics.ObserveLatency(LatencySample{Policy: p.id, For: ForRights, Took: p.controller.now().Sub(lost)})
	}
}

// observeLatency notes that a write was answered: the first one in a reconcile ends the wait of
// who caused the event.
func (p *ownerReconciler) observeLatency() {
	metrics := p.controller.options.Metrics
	if metrics == nil || p.firstEvent.IsZero() {
		return
	}
	metrics.ObserveLatency(LatencySample{Policy: p.id, For: ForWrite, Took: p.controller.now().Sub(p.firstEvent)})
	p.firstEvent = time.Time{}
}

// traceWrite begins the span of a write. The caller ends it with what came of it.
func (p *ownerReconciler) traceWrite(ctx context.Context, verb, resource, namespace string) (context.Context, func(outcome string)) {
	ctx, span := p.controller.tracer.Start(ctx, "write",
		trace.WithAttributes(attrVerb.String(verb), attrResource.String(resource), attrPlace.String(namespace)))
	return ctx, func(outcome string) {
		p.observeLatency()
		span.SetAttributes(attrOutcome.String(outcome))
		if outcome == OutcomeRefused {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// applyTraced carries out an action, counted and traced.
func (p *ownerReconciler) applyTraced(ctx context.Context, applier apply.Applier, action plan.Action, k discovery.Resource) (apply.Outcome, error) {
	ctx, end := p.traceWrite(ctx, verbOf(action), k.GVR.GroupResource().String(), action.Namespace)
	outcome, err := applier.CarryOut(ctx, action, apply.Target{Resource: k.GVR, OwnerUID: p.ownerUID(), OwnerNamespace: p.ownerNamespace(), Lives: p.ownerExists})
	if err != nil {
		end(OutcomeRefused)
		return outcome, err
	}
	how := outcomeOf(action, outcome)
	end(how)
	if metrics := p.controller.options.Metrics; metrics != nil && ctx.Err() == nil {
		metrics.ObserveWrite(WriteSample{Policy: p.id, Resource: k.GVR.GroupResource(), Outcome: how})
	}
	return outcome, nil
}

// tracePlan begins the span of a plan. The caller ends it with the plan.
func (p *ownerReconciler) tracePlan(ctx context.Context) (context.Context, func(*plan.Plan)) {
	ctx, span := p.controller.tracer.Start(ctx, "plan")
	return ctx, func(planned *plan.Plan) {
		span.SetAttributes(attrActions.Int(len(planned.Actions)))
		span.End()
	}
}

// metadataOutcome says how a mark was taken.
func metadataOutcome(outcome apply.Outcome) string {
	if outcome.Problem != nil {
		return OutcomeRefused
	}
	return OutcomeUpdated
}

// writingOf says how a status was taken.
func writingOf(err error) string {
	if err != nil {
		return OutcomeRefused
	}
	return OutcomeUpdated
}
