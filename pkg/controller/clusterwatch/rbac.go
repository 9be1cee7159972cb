// Package clusterwatch watches, as Ambit itself and where that is permitted, what says that rights or kinds
// may have changed: RBAC objects (RBACWatcher) and CustomResourceDefinitions (DefinitionWatcher), by
// their metadata only.
//
// What such an object says is never evaluated: that it has changed is a reason to ask the API server
// again, where package access and package discovery would else ask every few seconds. Without the right
// to watch them all goes on, slower.
package clusterwatch

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
	"github.com/ambit-dev/ambit/pkg/permitted"
)

// How often the right to watch RBAC objects is asked for while it is missing: after
// rbacRetryMin if other rights have changed, else after rbacRetryMax. Nobody waits for
// it, so it is not worth more.
const (
	rbacRetryMin = 10 * time.Second
	rbacRetryMax = 5 * time.Minute
)

// RBACWatcher watches Roles, ClusterRoles and their bindings. A change leads to a review of the places
// that it may concern. Where they may not be watched, watches are reopened every few seconds instead.
// Create it with NewRBACWatcher. Safe for concurrent use.
type RBACWatcher struct {
	Options
	objects *permitted.Watch // belongs to the goroutine of Run
	wake    chan struct{}    // holds at most one

	mu            sync.Mutex // guards what is below
	isCheckWanted bool       // rights have changed since they were asked for

	missing []string // as of the last answer; belongs to the goroutine of Run
}

// Options are the inputs of both watchers. Kinds is used by a DefinitionWatcher only, and Access and Logger by
// an RBACWatcher; all else is required.
type Options struct {
	Access    Access
	Informers Informers
	Kinds     Kinds
	// Permitted makes the watches.
	Permitted *permitted.Informers
	Clock     clock.Clock
	Logger    logr.Logger
}

// Access is what is used of an access.Reviewer.
type Access interface {
	Invalidate(namespace string)
	SetEventDriven(isEventDriven bool)
}

// Informers is what is used of an informer.Set.
type Informers interface {
	Reauthorize(isPolling bool)
	Retry(key informer.Key)
	States() []informer.KeyStatus
}

// Kinds is what is used of a discovery.Cache.
type Kinds interface {
	AnyUnserved() bool
	RefreshAll()
}

// NewRBACWatcher returns a watcher, which does nothing before Run.
func NewRBACWatcher(o Options) *RBACWatcher {
	t := &RBACWatcher{Options: o, wake: make(chan struct{}, 1)}
	t.objects = o.Permitted.NewWatch(permitted.Query{Resources: t.rbacResources(), Versions: true}, t.objectsChanged)
	return t
}

// rbacResources are those whose changes may change what is allowed.
func (t *RBACWatcher) rbacResources() (list []schema.GroupVersionResource) {
	for _, resource := range []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"} {
		list = append(list, rbacv1.SchemeGroupVersion.WithResource(resource))
	}
	return list
}

// objectsChanged is told of RBAC objects, and of the permission to watch them.
func (t *RBACWatcher) objectsChanged(event permitted.Event) {
	if event.Object != nil {
		t.Access.Invalidate(event.Object.GetNamespace())
		return
	}
	wakeup.SendWake(t.wake)
}

// CheckSoon says that of what was missing some may be there: the right to watch RBAC objects
// may have come with it. It never blocks.
func (t *RBACWatcher) CheckSoon() {
	t.mu.Lock()
	t.isCheckWanted = true
	t.mu.Unlock()
	wakeup.SendWake(t.wake)
}

// Run follows the right to watch RBAC objects until ctx ends.
func (t *RBACWatcher) Run(ctx context.Context) {
	defer t.objects.Release()
	var asked time.Time // when the right was last asked for; zero: not yet
	var on, settled bool
	for ctx.Err() == nil {
		if asked.IsZero() || t.isCheckDue(asked) {
			asked = t.Clock.Now()
			t.objects.Require()
		}
		if now, known := t.isWorking(on); known && (now != on || !settled) {
			on, settled = now, true
			t.setEventDriven(on)
		}
		wakeup.WaitFor(ctx, t.Clock, rbacRetryMin, t.wake)
	}
}

// isCheckDue says whether a right that was missing is to be asked for again.
func (t *RBACWatcher) isCheckDue(asked time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := t.Clock.Since(asked)
	if age < rbacRetryMin || !t.isCheckWanted && age < rbacRetryMax {
		return false
	}
	t.isCheckWanted = false
	return true
}

// isWorking says whether changes of RBAC objects are seen, and whether that is
// known by now. While the API server cannot be reached it stays as it was.
func (t *RBACWatcher) isWorking(before bool) (on, known bool) {
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
	switch status := t.objects.InformerStatus(); {
	case status.State.IsFinal():
		return false, true
	case !status.Synced:
		return false, before
	}
	return true, true
}

// setEventDriven makes the rest of Ambit follow permissions by events of RBAC objects, or without them.
func (t *RBACWatcher) setEventDriven(on bool) {
	t.Access.SetEventDriven(on)
	t.Informers.Reauthorize(!on)
	if !on {
		t.Logger.Info("following permissions by reviews and by reopening watches: Roles and bindings may not be watched cluster-wide", "missing", t.missing)
		return
	}
	t.Logger.Info("following permissions by watching Roles and bindings")
	t.Access.Invalidate("") // what changed before the first list was in
}
