package ownerreconcile

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/plan"
)

// otherPolicy is another policy whose record of children is on the owner, so that this one waits.
// The zero value: there is none.
type otherPolicy struct {
	name  string
	since time.Time // when it was first seen
	told  bool      // an Event was made of it
}

// otherGrace is how long another policy may take to clean up after an owner that changes hands,
// before somebody is asked to act.
const otherGrace = 5 * time.Second

// recordOtherPolicy keeps whose record is on the owner, and makes an Event when that does not end by
// itself.
func (p *Reconciler) recordOtherPolicy(planned *plan.Plan) {
	other, now := &p.state.other, p.Now()
	switch {
	case planned.Foreign == "":
		*other = otherPolicy{}
		return
	case other.name != planned.Foreign:
		*other = otherPolicy{name: planned.Foreign, since: now}
	}
	switch {
	case now.Sub(other.since) < otherGrace:
		p.requeueAt(other.since.Add(otherGrace))
	case !other.told && len(planned.Blockers) > 0 && planned.Blockers[0].Terminal:
		other.told = true
		p.makeEvent(planned.Blockers[0].Reason, planned.Blockers[0].Message)
	}
}

// otherStays reports whether the other policy does not clean up after the owner, as far as is
// known here: it has had the time, and is not one that this controller is retiring.
func (p *Reconciler) otherStays() bool {
	other := p.state.other
	return other.name != "" && p.Now().Sub(other.since) >= otherGrace &&
		!p.IsRetired(other.name)
}

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
