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
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// How often the right to watch RBAC objects is asked for while it is missing: after
// triggersMin if other rights have changed, else after triggersMax. Nobody waits for
// it, so it is not worth more.
const (
	rbacRetryMin = 10 * time.Second
	rbacRetryMax = 5 * time.Minute
)

// rbacWatcher watches Roles, ClusterRoles and their bindings as Ambit itself, where
// that is permitted, by metadata only. What they say is never evaluated: a change
// leads to a review of the places it may concern. Where they are not permitted,
// watches are reopened every few seconds instead. Safe for concurrent use.
type rbacWatcher struct {
	access  *access.Reviewer
	streams *informer.Set
	objects *permitted.Watch // belongs to the goroutine of followPermission
	clock   clock.Clock
	log     logr.Logger
	wake    chan struct{} // holds at most one

	mu            sync.Mutex // guards what is below
	isCheckWanted bool       // rights have changed since they were asked for

	missing []string // as of the last answer; belongs to the goroutine of followPermission
}

func newRBACWatcher(e *Controller) *rbacWatcher {
	t := &rbacWatcher{
		access: e.options.Access, streams: e.options.Informers, clock: e.options.Clock,
		log:  e.options.Logger,
		wake: make(chan struct{}, 1),
	}
	t.objects = e.permitted.NewWatch(permitted.Query{Resources: t.rbacResources(), Versions: true}, t.objectsChanged)
	return t
}

// rbacResources are those whose changes may change what is allowed.
func (t *rbacWatcher) rbacResources() (list []schema.GroupVersionResource) {
	for _, resource := range []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"} {
		list = append(list, rbacv1.SchemeGroupVersion.WithResource(resource))
	}
	return list
}

// objectsChanged is told of RBAC objects, and of the permission to watch them.
func (t *rbacWatcher) objectsChanged(event permitted.Event) {
	if event.Object != nil {
		t.access.Invalidate(event.Object.GetNamespace())
		return
	}
	wakeUp(t.wake)
}

// checkSoon says that of what was missing some may be there: the right to watch RBAC objects
// may have come with it. It never blocks.
func (t *rbacWatcher) checkSoon() {
	t.mu.Lock()
	t.isCheckWanted = true
	t.mu.Unlock()
	wakeUp(t.wake)
}

// followPermission follows the right to watch RBAC objects until ctx ends.
func (t *rbacWatcher) followPermission(ctx context.Context) {
	defer t.objects.Release()
	var asked time.Time // when the right was last asked for; zero: not yet
	var on, settled bool
	for ctx.Err() == nil {
		if asked.IsZero() || t.isCheckDue(asked) {
			asked = t.clock.Now()
			t.objects.Require()
		}
		if now, known := t.isWorking(on); known && (now != on || !settled) {
			on, settled = now, true
			t.setEventDriven(on)
		}
		timer := t.clock.NewTimer(rbacRetryMin)
		select {
		case <-ctx.Done():
		case <-t.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// isCheckDue says whether a right that was missing is to be asked for again.
func (t *rbacWatcher) isCheckDue(asked time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := t.clock.Since(asked)
	if age < rbacRetryMin || !t.isCheckWanted && age < rbacRetryMax {
		return false
	}
	t.isCheckWanted = false
	return true
}

// isWorking says whether changes of RBAC objects are seen, and whether that is
// known by now. While the API server cannot be reached it stays as it was.
func (t *rbacWatcher) isWorking(before bool) (on, known bool) {
	permission := t.objects.Permission()
	if permission.Decision == permitted.Allowed { // perhaps by a review that others asked for
		permission = t.objects.Require()
	}
	switch permission.Decision {
	case permitted.Denied, permitted.Refused:
		t.missing = nil
		for _, a := range permission.Missing {
			t.missing = append(t.missing, a.Verb+" "+a.Resource)
		}
		// It will be asked for again; until then nothing probes for it.
		t.objects.Release()
		return false, true
	case permitted.Unknown:
		return false, false
	}
	switch status := t.objects.Status(); {
	case status.State.IsFinal():
		return false, true
	case !status.Synced:
		return false, before
	}
	return true, true
}

// setEventDriven makes the rest of Ambit follow permissions by triggers, or without them.
func (t *rbacWatcher) setEventDriven(on bool) {
	t.access.SetEventDriven(on)
	t.streams.Reauthorize(!on)
	if !on {
		t.log.Info("following permissions by reviews and by reopening watches: Roles and bindings may not be watched cluster-wide", "missing", t.missing)
		return
	}
	t.log.Info("following permissions by watching Roles and bindings")
	t.access.Invalidate(allNamespaces) // what changed before the first list was in
}

// wakeUp wakes who waits for a channel that holds one, or will do so: one is enough.
// It never blocks.
func wakeUp(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
