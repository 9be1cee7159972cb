package policysource

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// snapshot adds what the objects hold; false: they have not been read yet, and may be
// soon.
func (s *shelf) snapshot(out *snapshot) bool {
	settled := s.isPicked
	texts, objects := map[*unstructured.Unstructured][]text{}, map[Origin]*unstructured.Unstructured{}
	for namespace, view := range s.views {
		list, status := view.Read()
		if status.Synced {
			out.complete = append(out.complete, place{kind: s.kind.kind, namespace: namespace})
		}
		if !status.Synced && !status.State.Final() {
			settled = false
		}
		s.note(status)
		for _, object := range list {
			made, ok := s.texts[object]
			if !ok {
				made = s.kind.texts(object)
			}
			texts[object] = made
			objects[Origin{Kind: s.kind.kind, Namespace: object.GetNamespace(), Name: object.GetName()}] = object
			for _, t := range made {
				t.unguardable = s.kind.finalized && !t.guarded && !s.mayGuard(object)
				out.texts = append(out.texts, t)
			}
		}
	}
	s.texts = texts
	s.mu.Lock()
	s.objects = objects
	s.mu.Unlock()
	s.noteEmpty()
	return settled
}

// noteEmpty says once of each object in which there is no policy that there is none.
func (s *shelf) noteEmpty() {
	before := s.empty
	s.empty = map[types.UID]bool{}
	for object, texts := range s.texts {
		if len(texts) > 0 || object.GetDeletionTimestamp() != nil {
			continue
		}
		s.empty[object.GetUID()] = true
		if before[object.GetUID()] {
			continue
		}
		const message = "there is no policy in it: none of its keys ends in .yaml or .yml"
		s.o.Logger.Info("a ConfigMap with the label of policies is ignored", "namespace", object.GetNamespace(), "name", object.GetName(), "message", message)
		if s.o.Recorder != nil && s.mayTell(object) {
			s.o.Recorder.Eventf(regarding(object), nil, corev1.EventTypeWarning, v1alpha1.ReasonInvalid, "Reconcile", message)
		}
	}
}

// note keeps why a stream is refused.
func (s *shelf) note(status informer.Status) {
	switch {
	case status.State == informer.Missing:
		s.problem = fmt.Sprintf("the API server does not serve %s: its CustomResourceDefinition is not installed", s.kind.resource.GroupResource())
	case status.State.Final():
		s.problem = status.Message
	}
}

// object returns the object of an origin as it was seen last; nil: it is not there. It
// is shared: nobody changes it.
func (s *shelf) object(o Origin) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[o.object()]
}

// annotated are the objects on which it is written in an annotation how policies fare.
func (s *shelf) annotated() []Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Origin
	for origin, object := range s.objects {
		if _, has := object.GetAnnotations()[v1alpha1.AnnotationStatus]; has {
			list = append(list, origin)
		}
	}
	return list
}

// mayGuard says whether the finalizer can be put on an object, as far as is known: what
// is not known yet will be.
func (s *shelf) mayGuard(object *unstructured.Unstructured) bool {
	if !s.mayWrite(object, s.kind.access("patch", "")) {
		return !s.decided(object.GetNamespace())
	}
	return true
}

// decided says whether it is known what may be written in a namespace.
func (s *shelf) decided(namespace string) bool {
	return s.answered(everywhere) && (!s.asked[namespace] || s.answered(namespace))
}

// known says whether it has been answered what may be written in a namespace.
func (s *shelf) known(namespace string) bool {
	return s.answered(everywhere) && (s.o.Access.State(access.Key{Namespace: namespace}).Reviewed || !s.allowed(everywhere, s.kind.reading()...))
}

// mayWrite says whether a write of an object is permitted, and was not refused since
// rights were last seen to change.
func (s *shelf) mayWrite(object *unstructured.Unstructured, a access.Access) bool {
	if !s.allowed(everywhere, a) && !s.allowed(object.GetNamespace(), a) {
		return false
	}
	now := s.generation(object.GetNamespace())
	s.mu.Lock()
	defer s.mu.Unlock()
	since, refused := s.cannot[object.GetUID()]
	return !refused || since != now
}

// generation grows when what is known of rights in a namespace changes.
func (s *shelf) generation(namespace string) uint64 {
	return s.o.Access.State(access.Key{}).Generation + s.o.Access.State(access.Key{Namespace: namespace}).Generation
}

// mayTell says whether an event of an object can be made, as far as the last answer tells:
// that is no reason to ask.
func (s *shelf) mayTell(object *unstructured.Unstructured) bool {
	a := access.Access{Verb: "create", Group: "events.k8s.io", Resource: "events"}
	for _, namespace := range []string{everywhere, object.GetNamespace()} {
		if s.o.Access.Decide(access.Key{Namespace: namespace}, a) == access.Allowed {
			return true
		}
	}
	return false
}

// refuse notes that a write of an object was refused.
func (s *shelf) refuse(object *unstructured.Unstructured, a access.Access) {
	now := s.generation(object.GetNamespace())
	s.mu.Lock()
	s.cannot[object.GetUID()] = now
	for uid := range s.cannot {
		if !slices.ContainsFunc(s.uids(), func(known types.UID) bool { return known == uid }) {
			delete(s.cannot, uid)
		}
	}
	s.mu.Unlock()
	for _, namespace := range []string{everywhere, object.GetNamespace()} {
		s.o.Access.ReportDenied(access.Key{Namespace: namespace}, a)
	}
}

// uids are those of all objects; mu is held.
func (s *shelf) uids() []types.UID {
	list := make([]types.UID, 0, len(s.objects))
	for _, object := range s.objects {
		list = append(list, object.GetUID())
	}
	return list
}

// observe puts an object as the API server answered a write of it where it is read, and
// where the next write finds it: before is the object that was written.
func (s *shelf) observe(before, object *unstructured.Unstructured) {
	for _, namespace := range []string{everywhere, object.GetNamespace()} {
		s.o.Informers.Observe(s.key(namespace), object)
	}
	origin := Origin{Kind: s.kind.kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.objects[origin] != before: // it was looked at since
	case object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0:
		delete(s.objects, origin) // that was the last finalizer
	default:
		s.objects[origin] = object
	}
}
