package controller

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/access"
)

// Recorder makes Events, as client-go's events.EventRecorder does. It does not block.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// maxEvent bounds the note of an Event: the API takes 1 KiB.
const maxEvent = 1000

// makeEvent makes a warning of the owner, where Events may be made. It is for what changes rarely: a
// transition, not a state.
func (p *ownerReconciler) makeEvent(reason, message string) {
	recorder := p.controller.options.Recorder
	if recorder == nil || p.owner == nil || !p.mayMakeEvents() {
		return
	}
	if len(message) > maxEvent {
		message = strings.ToValidUTF8(message[:maxEvent-3], "") + "..."
	}
	owner := &corev1.ObjectReference{
		APIVersion: p.owner.GetAPIVersion(), Kind: p.owner.GetKind(), Namespace: p.owner.GetNamespace(),
		Name: p.owner.GetName(), UID: p.owner.GetUID(), ResourceVersion: p.owner.GetResourceVersion(),
	}
	recorder.Eventf(owner, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
}

// mayMakeEvents reports whether an Event of the owner can be made, as far as the last answer tells:
// that is no reason to ask. Events are Ambit's own, whoever the policy acts as; of an owner
// without a namespace they are in the namespace `default`.
func (p *ownerReconciler) mayMakeEvents() bool {
	create := access.Access{Verb: "create", Group: "events.k8s.io", Resource: "events"}
	for _, namespace := range []string{allNamespaces, cmp.Or(p.owner.GetNamespace(), metav1.NamespaceDefault)} {
		if p.controller.options.Access.Decide(access.Key{Namespace: namespace}, create) == access.Allowed {
			return true
		}
	}
	return false
}
