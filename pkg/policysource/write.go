package policysource

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/backoff"
)

// fieldManager is who writes finalizers, statuses and annotations of policies.
const fieldManager = "ambit"

// keep makes a custom resource have the finalizer and the status that it should have.
func (s *secretary) keep(ctx context.Context, d document, says said) {
	shelf := s.shelf(CustomResource)
	if shelf == nil {
		return
	}
	object := shelf.object(d.origin)
	if object == nil || string(object.GetUID()) != d.uid {
		return // the next decision knows
	}
	patch, err := finalizerPatch(object, d)
	if s.isProblem(err) {
		return
	}
	if patch != nil {
		s.write(ctx, letter{shelf: shelf, object: object, patch: patch, urgent: true})
		return // the status comes with the answer
	}
	if object.GetGeneration() != d.generation {
		return // what is known is about an older version
	}
	if patch, err = statusPatch(object, says, s.o.Clock.Now()); s.isProblem(err) {
		return
	}
	if patch == nil {
		s.agree(d.origin)
		return
	}
	known, _ := observed(object, v1alpha1.ConditionReady)["observedGeneration"].(int64)
	if !s.ripe(d.origin, fmt.Sprint(says), passes(says.ready.reason), known == d.generation) {
		return
	}
	s.write(ctx, letter{shelf: shelf, object: object, subresource: shelf.kind.subresource, patch: patch})
}

// annotate makes ConfigMaps have the annotations that they should have: those in which
// there is no policy any more have none.
func (s *secretary) annotate(ctx context.Context, notes map[Origin][]note) {
	shelf := s.shelf(ConfigMap)
	if shelf == nil {
		return
	}
	for _, origin := range shelf.annotated() {
		if _, has := notes[origin]; !has {
			notes[origin] = nil
		}
	}
	for origin, list := range notes {
		object := shelf.object(origin)
		if object == nil {
			continue
		}
		patch, err := annotationPatch(object, list)
		if s.isProblem(err) {
			continue
		}
		if patch == nil {
			s.agree(origin)
			continue
		}
		passing := slices.ContainsFunc(list, func(n note) bool { return passes(n.Reason) })
		_, known := object.GetAnnotations()[v1alpha1.AnnotationStatus]
		if !s.ripe(origin, fmt.Sprint(list), passing, known) {
			continue
		}
		s.write(ctx, letter{shelf: shelf, object: object, patch: patch})
	}
}

// isProblem logs an error, if it is one.
func (s *secretary) isProblem(err error) bool {
	if err != nil {
		s.o.Logger.Error(err, "writing how a policy fares")
	}
	return err != nil
}

// letter is one write.
type letter struct {
	shelf       *shelf
	object      *unstructured.Unstructured // as it was read
	subresource string                     // empty for the object itself
	patch       []byte
	urgent      bool // it need not wait for a second after the last one
}

func (l letter) origin() Origin {
	return Origin{Kind: l.shelf.kind.kind, Namespace: l.object.GetNamespace(), Name: l.object.GetName()}
}

// needed is the access that it takes.
func (l letter) needed() access.Access { return l.shelf.kind.access("patch", l.subresource) }

// write sends a letter, unless that is not permitted, or is to wait.
func (s *secretary) write(ctx context.Context, l letter) {
	if s.away {
		return
	}
	now := s.o.Clock.Now()
	last := s.written[l.origin()]
	if until := last.holds(l.urgent); now.Before(until) {
		s.putOff(until)
		return
	}
	if !l.shelf.mayWrite(l.object, l.needed()) {
		s.silence(l)
		return
	}
	delete(s.silenced, l.needed())
	answer, err := s.send(ctx, l)
	if err != nil {
		last.failures++
		last.next = now.Add(backoff.Exponential{First: tellTime, Last: mostWait}.After(last.failures))
		s.written[l.origin()] = last
		s.failed(ctx, l, err)
		return
	}
	if l.urgent {
		delete(s.written, l.origin())
	} else {
		s.written[l.origin()] = attempt{next: now.Add(tellTime)}
	}
	l.shelf.observe(l.object, answer)
}

func (s *secretary) send(ctx context.Context, l letter) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	var below []string
	if l.subresource != "" {
		below = []string{l.subresource}
	}
	return s.o.Client.Resource(l.shelf.kind.resource).Namespace(l.object.GetNamespace()).
		Patch(ctx, l.object.GetName(), types.MergePatchType, l.patch, metav1.PatchOptions{FieldManager: fieldManager}, below...)
}

// failed takes in why a write failed.
func (s *secretary) failed(ctx context.Context, l letter, err error) {
	var answer apierrors.APIStatus
	s.away = !errors.As(err, &answer)
	log := s.o.Logger.WithValues("namespace", l.object.GetNamespace(), "name", l.object.GetName(), "resource", l.shelf.kind.resource.Resource)
	switch {
	case ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsConflict(err): // what is seen next decides
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsMethodNotSupported(err):
		log.Info("the API server refuses to have it written how a policy fares", "reason", string(apierrors.ReasonForError(err)))
		l.shelf.refuse(l.object, l.needed())
		l.shelf.wake()
	default:
		log.V(1).Info("it could not be written how a policy fares", "reason", err.Error())
	}
}

// silence logs once that something is not written for want of a right.
func (s *secretary) silence(l letter) {
	if s.silenced[l.needed()] || !l.shelf.known(l.object.GetNamespace()) {
		return
	}
	s.silenced[l.needed()] = true
	resource := l.needed().Resource
	if l.subresource != "" {
		resource += "/" + l.subresource
	}
	s.o.Logger.Info("how policies fare is not written on all of them: the right to patch is missing",
		"resource", resource, "namespace", l.object.GetNamespace(), "name", l.object.GetName())
}
