package ownerreconcile

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Recorder makes Events, as client-go's events.EventRecorder does. It does not block.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// maxEvent bounds the note of an Event: the API takes 1 KiB.
const maxEvent = 1000

// makeEvent makes a warning of the owner, where Events may be made. It is for what changes rarely: a
// transition, not a state.
func (p *Reconciler) makeEvent(reason, message string) {
	if p.Recorder == nil || p.owner == nil || !p.MayMakeEvents(p.owner.GetNamespace()) {
		return
	}
	if len(message) > maxEvent {
		message = strings.ToValidUTF8(message[:maxEvent-3], "") + "..."
	}
	owner := &corev1.ObjectReference{
		APIVersion: p.owner.GetAPIVersion(), Kind: p.owner.GetKind(), Namespace: p.owner.GetNamespace(),
		Name: p.owner.GetName(), UID: p.owner.GetUID(), ResourceVersion: p.owner.GetResourceVersion(),
	}
	p.Recorder.Eventf(owner, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
}
