package controller

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// How often the right to watch RBAC objects is asked for while it is missing: after
// triggersMin if other rights have changed, else after triggersMax. Nobody waits for
// it, so it is not worth more.
const (
	triggersMin = 10 * time.Second
	triggersMax = 5 * time.Minute
)

// triggers watch Roles, ClusterRoles and their bindings as Ambit itself, where
// that is permitted, by metadata only. What they say is never evaluated: a change
// leads to a review of the places it may concern. Where they are not permitted,
// watches are reopened every few seconds instead. Safe for concurrent use.
type triggers struct {
	access  *access.Reviewer
	streams *informer.Set
	clock   clock.Clock
	log     logr.Logger
	wake    chan struct{} // holds at most one

	mu     sync.Mutex // guards what is below
	hinted bool       // rights have changed since they were asked for

	missing []string // as of the last answer; belongs to the goroutine of run
}

func newTriggers(e *Controller) *triggers {
	return &triggers{
		access: e.options.Access, streams: e.options.Informers, clock: e.options.Clock,
		log:  e.options.Logger,
		wake: make(chan struct{}, 1),
	}
}

// resources are those whose changes may change what is allowed.
func (t *triggers) resources() []string {
	return []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}
}

func (t *triggers) accesses() []access.Access {
	var list []access.Access
	for _, resource := range t.resources() {
		list = append(list, reading(schema.GroupResource{Group: rbacv1.GroupName, Resource: resource})...)
	}
	return list
}

func (t *triggers) needs() []informer.Interest {
	var list []informer.Interest
	for _, resource := range t.resources() {
		list = append(list, informer.Interest{Key: informer.Key{
			GVR:  rbacv1.SchemeGroupVersion.WithResource(resource),
			Form: informer.Form{Metadata: true, Versions: true},
		}})
	}
	return list
}

// Changed implements informer.EventHandler.
func (t *triggers) Changed(event informer.Event) {
	if event.Object != nil {
		t.access.Invalidate(event.Object.GetNamespace())
		return
	}
	if isRefused(event) {
		t.access.ReportDenied(access.Key{}, access.Access{Verb: "watch", Group: event.Key.GVR.Group, Resource: event.Key.GVR.Resource})
	}
	poke(t.wake)
}

// triggerRights are triggers as a subscriber of the rights that they need.
type triggerRights struct{ *triggers }

var (
	_ informer.EventHandler = (*triggers)(nil)
	_ access.ChangeHandler  = triggerRights{}
)

// Changed implements access.ChangeHandler.
func (t triggerRights) Changed(access.Key) { poke(t.wake) }

// hint says that of what was missing some may be there: the right to watch RBAC objects
// may have come with it. It never blocks.
func (t *triggers) hint() {
	t.mu.Lock()
	t.hinted = true
	t.mu.Unlock()
	poke(t.wake)
}

// run follows the right to watch RBAC objects until ctx ends.
func (t *triggers) run(ctx context.Context) {
	defer t.release()
	var asked time.Time // when the right was last asked for; zero: not yet
	var on, settled bool
	for ctx.Err() == nil {
		if asked.IsZero() || t.due(asked) {
			asked = t.clock.Now()
			t.access.Require(triggerRights{t}, access.Key{}, t.accesses(), access.Payer{})
		}
		if now, known := t.working(on); known && (now != on || !settled) {
			on, settled = now, true
			t.turn(on)
		}
		timer := t.clock.NewTimer(triggersMin)
		select {
		case <-ctx.Done():
		case <-t.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// due says whether a right that was missing is to be asked for again.
func (t *triggers) due(asked time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := t.clock.Since(asked)
	if age < triggersMin || !t.hinted && age < triggersMax {
		return false
	}
	t.hinted = false
	return true
}

// working says whether changes of RBAC objects are seen, and whether that is
// known by now. While the API server cannot be reached it stays as it was.
func (t *triggers) working(before bool) (on, known bool) {
	switch all, denied := t.permitted(); all {
	case access.Denied:
		t.missing = nil
		for _, a := range denied {
			t.missing = append(t.missing, a.Verb+" "+a.Resource)
		}
		// It will be asked for again; until then nothing probes for it.
		t.release()
		return false, true
	case access.Unknown:
		return false, false
	}
	for _, view := range t.streams.Require(t, t.needs()) {
		switch status := view.Status(); {
		case status.State.Final():
			return false, true
		case !status.Synced:
			return false, before
		}
	}
	return true, true
}

// permitted says whether all that is needed is allowed, and what is denied. Where
// there are no reviews it is not.
func (t *triggers) permitted() (all access.Decision, denied []access.Access) {
	if t.access.State(access.Key{}).Refusal != nil {
		return access.Denied, nil
	}
	return decide(t.access, access.Key{}, t.accesses())
}

// turn makes the rest of Ambit follow permissions by triggers, or without them.
func (t *triggers) turn(on bool) {
	t.access.SetEventDriven(on)
	t.streams.Reauthorize(!on)
	if !on {
		t.log.Info("following permissions by reviews and by reopening watches: Roles and bindings may not be watched cluster-wide", "missing", t.missing)
		return
	}
	t.log.Info("following permissions by watching Roles and bindings")
	t.access.Invalidate(allNamespaces) // what changed before the first list was in
}

func (t *triggers) release() {
	t.access.Require(triggerRights{t}, access.Key{}, nil, access.Payer{})
	t.streams.Require(t, nil)
}

// poke wakes who waits for a channel that holds one, or will do so: one is enough.
// It never blocks.
func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
