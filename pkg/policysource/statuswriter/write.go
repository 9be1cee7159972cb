package statuswriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/backoff"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// written is what is written: an object, or a subresource of it. origin is without a key.
type written struct {
	origin      manifest.Origin
	subresource string
}

// writeAttempt is the last write of an object, or of its subresource: one that is refused does not
// hold up the other.
type writeAttempt struct {
	next     time.Time // the next write is not before
	failures int       // in a row
}

// holdUntil returns until when a write waits for the last one. A write of a finalizer is urgent,
// and waits for failures only.
func (a writeAttempt) holdUntil(urgent bool) time.Time {
	if urgent && a.failures == 0 {
		return time.Time{}
	}
	return a.next
}

// patchRequest is one write.
type patchRequest struct {
	origin      manifest.Origin            // without a key
	object      *unstructured.Unstructured // as it was read
	subresource string                     // empty for the object itself
	patch       []byte
	urgent      bool // it need not wait for a second after the last one
}

// resourceName returns what is patched, for people.
func (r patchRequest) resourceName() string {
	switch {
	case r.origin.Kind == manifest.ConfigMap:
		return "configmaps"
	case r.subresource != "":
		return v1alpha1.Resource + "/" + r.subresource
	}
	return v1alpha1.Resource
}

// writeResource gives a custom resource the finalizer and the status that it should have.
func (w *Writer) writeResource(ctx context.Context, p registry.PolicyState, status policystatus.Status) {
	object := w.objectOf(p.Origin)
	if object == nil || string(object.GetUID()) != p.UID {
		return // the next decision knows
	}
	patch, err := policystatus.FinalizerPatch(object, p)
	if w.logProblem(err) {
		return
	}
	if patch != nil && w.sendPatch(ctx, patchRequest{origin: p.Origin, object: object, patch: patch, urgent: true}) {
		return // the status comes with the answer
	}
	if object.GetGeneration() != p.Generation {
		return // what is known is about an older version
	}
	if patch, err = policystatus.StatusPatch(object, status, w.o.Clock.Now()); w.logProblem(err) {
		return
	}
	if patch == nil {
		w.debouncer.noteUpToDate(p.Origin)
		return
	}
	reported, _ := policystatus.ConditionOn(object, v1alpha1.ConditionReady)["observedGeneration"].(int64)
	if wait := w.debouncer.dueAfter(p.Origin, fmt.Sprint(status), policystatus.IsTransient(status.Ready.Reason), reported == p.Generation); wait > 0 {
		w.wakeAt(w.o.Clock.Now().Add(wait))
		return
	}
	w.sendPatch(ctx, patchRequest{origin: p.Origin, object: object, subresource: "status", patch: patch})
}

// writeAnnotations gives ConfigMaps the annotations that they should have. Those that have no
// policy any more lose it.
func (w *Writer) writeAnnotations(ctx context.Context, summaries map[manifest.Origin][]policystatus.Summary) {
	objects := w.o.Objects[manifest.ConfigMap]
	if objects == nil {
		return
	}
	for _, origin := range objects.AnnotatedOrigins() {
		if _, has := summaries[origin]; !has {
			summaries[origin] = nil
		}
	}
	for origin, list := range summaries {
		object := objects.FindObject(origin)
		if object == nil {
			continue
		}
		patch, err := policystatus.AnnotationPatch(object, list)
		if w.logProblem(err) {
			continue
		}
		if patch == nil {
			w.debouncer.noteUpToDate(origin)
			continue
		}
		transient := slices.ContainsFunc(list, func(s policystatus.Summary) bool { return policystatus.IsTransient(s.Reason) })
		_, reported := object.GetAnnotations()[v1alpha1.AnnotationStatus]
		if wait := w.debouncer.dueAfter(origin, fmt.Sprint(list), transient, reported); wait > 0 {
			w.wakeAt(w.o.Clock.Now().Add(wait))
			continue
		}
		w.sendPatch(ctx, patchRequest{origin: origin, object: object, patch: patch})
	}
}

// logProblem logs an error, and reports whether it is one.
func (w *Writer) logProblem(err error) bool {
	if err != nil {
		w.o.Logger.Error(err, "writing how a policy fares")
	}
	return err != nil
}

// sendPatch sends a patch, unless it is to wait or is not permitted, and reports whether it was
// accepted.
func (w *Writer) sendPatch(ctx context.Context, r patchRequest) bool {
	if w.apiUnavailable {
		return false
	}
	what := written{r.origin, r.subresource}
	now, last := w.o.Clock.Now(), w.attempts[what]
	if until := last.holdUntil(r.urgent); now.Before(until) {
		w.wakeAt(until)
		return false
	}
	objects := w.o.Objects[r.origin.Kind]
	if allowed, known := objects.MayPatch(r.object, r.subresource); !allowed {
		if known {
			w.logForbidden(r)
		}
		return false
	}
	delete(w.logged, r.resourceName())
	sending, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := objects.PatchObject(sending, r.object, r.subresource, r.patch)
	switch {
	case err != nil:
		last.failures++
		last.next = now.Add(backoff.Exponential{First: WriteInterval, Last: maxBackoff}.WaitAfter(last.failures))
		w.attempts[what] = last
		w.noteFailure(ctx, r, last.failures, err)
	case r.urgent:
		delete(w.attempts, what)
	default:
		w.attempts[what] = writeAttempt{next: now.Add(WriteInterval)}
	}
	return err == nil
}

// noteFailure logs why a write failed, a refusal for people only the first of some in a row, and ends
// the pass if it was not answered.
func (w *Writer) noteFailure(ctx context.Context, r patchRequest, failures int, err error) {
	var answer apierrors.APIStatus
	w.apiUnavailable = !errors.As(err, &answer)
	resource, _, _ := strings.Cut(r.resourceName(), "/")
	log := w.o.Logger.WithValues("namespace", r.object.GetNamespace(), "name", r.object.GetName(), "resource", resource)
	switch {
	case ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsConflict(err): // what is seen next decides
	case failures == 1 && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsMethodNotSupported(err)):
		log.Info("the API server refuses to have it written how a policy fares", "reason", string(apierrors.ReasonForError(err)))
	default:
		log.V(1).Info("it could not be written how a policy fares", "reason", err.Error())
	}
}

// logForbidden logs once for each resource that it may not be patched.
func (w *Writer) logForbidden(r patchRequest) {
	if w.logged[r.resourceName()] {
		return
	}
	w.logged[r.resourceName()] = true
	w.o.Logger.Info("how policies fare is not written on all of them: the right to patch is missing",
		"resource", r.resourceName(), "namespace", r.object.GetNamespace(), "name", r.object.GetName())
}
