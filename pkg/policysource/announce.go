package policysource

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// mostEvent bounds the note of an event: the API takes 1 KiB.
const mostEvent = 1000

// announce logs that a document fares otherwise than before, and makes an event of it.
// What is said after a start is compared with what was written before.
func (s *secretary) announce(d document, says said) {
	now := says.ready
	if now.reason == v1alpha1.ReasonInvalid {
		now.message += ": " + says.valid.message
	}
	before, known := s.known[d.entryKey]
	if known && passes(now.reason) {
		return // it fares as before until more is known
	}
	stuck := isStuck(says)
	s.known[d.entryKey] = heard{now, stuck}
	if known && before.stuck == stuck && before.status == now.status && before.reason == now.reason && (now.reason != v1alpha1.ReasonInvalid || before.message == now.message) {
		return
	}
	log := s.o.Logger.WithValues("policy", d.name, "origin", d.origin.String(), "reason", now.reason)
	if now.message != "" {
		log = log.WithValues("message", now.message)
	}
	switch {
	case d.done: // it was logged when the cleaning up ended
	case now.status == isTrue:
		log.Info("policy is ready")
	case passes(now.reason):
		log.V(1).Info("policy is not ready yet")
	default:
		log.Info("policy is not ready")
	}
	if !passes(now.reason) && (known || now.status != isTrue) {
		s.event(d, heard{now, stuck})
	}
}

// heard is what was said of a document.
type heard struct {
	condition
	stuck bool // it is being deleted, and cannot clean up
}

// isStuck says whether a policy that is being deleted cannot clean up.
func isStuck(says said) bool { return says.stalled && isEnding(says.ready.reason) }

// passes says whether a reason is one that each version of a policy goes through.
func passes(reason string) bool {
	return reason == v1alpha1.ReasonStarting || reason == v1alpha1.ReasonSyncing
}

// event makes an event of what is said of an object.
func (s *secretary) event(d document, now heard) {
	s.tellOf(d, now, wasSaid)
}

// tellOf makes an event of what is said of an object, unless it was said before.
func (s *secretary) tellOf(d document, now heard, said func(*unstructured.Unstructured, document, heard) bool) {
	shelf := s.shelf(d.origin.Kind)
	if shelf == nil || s.o.Recorder == nil {
		return
	}
	object := shelf.object(d.origin)
	if object == nil || said(object, d, now) || !shelf.mayTell(object) {
		return
	}
	kind := corev1.EventTypeNormal
	if now.status != isTrue && !isEnding(now.reason) || now.stuck {
		kind = corev1.EventTypeWarning
	}
	text := now.message
	if text == "" {
		text = "the owners of the policy are being served"
	}
	if d.origin.Kind == ConfigMap {
		text = nameOf(d) + " in " + d.origin.Key + ": " + text
	}
	s.o.Recorder.Eventf(regarding(object), nil, kind, now.reason, "Reconcile", "%s", shortened(text, mostEvent))
}

// regarding is what an event of an object is about.
func regarding(object *unstructured.Unstructured) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}
}

// nameOf is what a message calls a policy: one whose text cannot be read has no name.
func nameOf(d document) string {
	if d.name == "" {
		return "a policy without a name"
	}
	return "policy " + d.name
}

// wasSaid says whether what is written on an object says this already: the event was made
// then, by another Ambit maybe.
func wasSaid(object *unstructured.Unstructured, d document, now heard) bool {
	if d.origin.Kind == ConfigMap {
		return slices.ContainsFunc(notesOn(object), func(n note) bool {
			return n.Key == d.origin.Key && n.Policy == d.name && n.Ready == (now.status == isTrue) && n.Reason == now.reason
		})
	}
	was := observed(object, v1alpha1.ConditionReady)
	stuck := isEnding(now.reason) && observed(object, v1alpha1.ConditionStalled)["status"] == isTrue
	return was["status"] == now.status && was["reason"] == now.reason && stuck == now.stuck && was["observedGeneration"] == d.generation
}

// observed is a condition of a custom resource; nil if it has not got it.
func observed(object *unstructured.Unstructured, kind string) map[string]any {
	status, _ := object.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if was, ok := c.(map[string]any); ok && typeOf(c) == kind {
			return was
		}
	}
	return nil
}
