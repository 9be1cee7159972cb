package objectsource

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// fieldManager is who writes finalizers, statuses and annotations of policies.
const fieldManager = "ambit"

// FindObject returns the object of an origin as it was last seen; nil if it is not there. It is shared:
// nobody changes it.
func (s *Source) FindObject(o manifest.Origin) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[o.WithoutKey()]
}

// AnnotatedOrigins returns the objects with the annotation of the statuses of policies.
func (s *Source) AnnotatedOrigins() []manifest.Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []manifest.Origin
	for origin, object := range s.objects {
		if _, has := object.GetAnnotations()[v1alpha1.AnnotationStatus]; has {
			list = append(list, origin)
		}
	}
	return list
}

// refusedWrite is a write that the API server refused, of an object itself or of a subresource.
type refusedWrite struct {
	// generation is that of permissions at that time.
	generation uint64
	// missesRight: permissions have to change before it makes sense to write again. Otherwise whoever
	// refused it, as a webhook, may think better of it any time.
	missesRight bool
}

// MayPatch reports whether an object, or its subresource if that is not "", may be patched, and whether
// that is known yet. What was refused for want of a right is not allowed before permissions are seen to
// change; what was refused otherwise is, and how often it is tried is up to the caller.
func (s *Source) MayPatch(object *unstructured.Unstructured, subresource string) (allowed, known bool) {
	namespace := object.GetNamespace()
	known = s.writes.isReviewed(allNamespaces) &&
		(s.o.Access.State(access.Key{Namespace: namespace}).Reviewed || s.informers.PermissionEverywhere().Decision != permitted.Allowed)
	patch := s.kind.accessFor("patch", subresource)
	if !s.writes.isAllowed(allNamespaces, patch) && !s.writes.isAllowed(namespace, patch) {
		return false, known
	}
	now := s.writes.generationOf(namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.refused[object.GetUID()]
	return !last.missesRight || last.generation != now, known
}

// canSetFinalizer reports whether the finalizer can be put on an object. What is not known yet is
// taken to be permitted.
func (s *Source) canSetFinalizer(object *unstructured.Unstructured) bool {
	if s.isRejected(object) {
		return false
	}
	// An answer may come in between: what is not known is asked before what is allowed.
	if !s.writes.isReviewed(allNamespaces) || !s.writes.isReviewed(object.GetNamespace()) {
		return true
	}
	allowed, _ := s.MayPatch(object, "")
	return allowed
}

// PatchObject sends a merge patch of an object, or of its subresource if that is not "". The error is that of
// the API server. The answer enters the informers' caches, and is what FindObject returns next.
func (s *Source) PatchObject(ctx context.Context, object *unstructured.Unstructured, subresource string, patch []byte) error {
	var below []string
	if subresource != "" {
		below = []string{subresource}
	}
	answer, err := s.o.Client.Resource(s.kind.resource).Namespace(object.GetNamespace()).
		Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, below...)
	switch {
	case err == nil:
		s.observeWrite(object, answer)
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsMethodNotSupported(err):
		missesRight := access.IsMissingRight(err) || apierrors.IsMethodNotSupported(err)
		s.noteRefused(object, missesRight)
		if missesRight {
			s.writes.reportDenied(object.GetNamespace(), s.kind.accessFor("patch", subresource))
		}
		s.o.Wake()
	}
	return err
}

// isRejected reports whether the last write of an object was refused by a webhook or the like.
func (s *Source) isRejected(object *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, refused := s.refused[object.GetUID()]
	return refused && !last.missesRight
}

// noteRefused records that a write of an object was refused.
func (s *Source) noteRefused(object *unstructured.Unstructured, missesRight bool) {
	now := s.writes.generationOf(object.GetNamespace())
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[types.UID]bool{}
	for _, object := range s.objects {
		known[object.GetUID()] = true
	}
	s.refused[object.GetUID()] = refusedWrite{generation: now, missesRight: missesRight}
	maps.DeleteFunc(s.refused, func(uid types.UID, _ refusedWrite) bool { return !known[uid] })
}

// observeWrite puts the API server's answer to a write where objects are read, and where the next
// write finds it. before is the object that was written.
func (s *Source) observeWrite(before, after *unstructured.Unstructured) {
	s.informers.ObserveWrite(after)
	origin := s.kind.originOf(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refused, before.GetUID())
	switch {
	case s.objects[origin] != before: // it was read since
	case after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0:
		delete(s.objects, origin) // that was the last finalizer
	default:
		s.objects[origin] = after
	}
}

// RecordEvent makes an event of an object, if the last review permits that. It asks for no review.
func (s *Source) RecordEvent(object *unstructured.Unstructured, eventType, reason, note string) {
	create := access.Access{Verb: "create", Group: "events.k8s.io", Resource: "events"}
	if s.o.Recorder == nil || !s.writes.isAllowed(allNamespaces, create) && !s.writes.isAllowed(object.GetNamespace(), create) {
		return
	}
	regarding := &corev1.ObjectReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
	s.o.Recorder.Eventf(regarding, nil, eventType, reason, "Reconcile", "%s", note)
}
