package controller

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/ownerreconcile"
	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/controller/revisions"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// policyController is one policy at work. It is an informer.EventHandler for the streams of
// its owners. Safe for concurrent use.
type policyController struct {
	controller *Controller
	id         string
	program    *policy.Program
	identity   string // who the policy acts as, as in informer.Key
	// ownerProjection is what is kept of owners.
	ownerProjection ownerinputs.Projection
	retiring        bool // the policy goes: what is ours is removed
	// startedAt: no owner that is younger was worked on before this version of the policy.
	startedAt time.Time
	// revision is the policy controller as the controller's registry of revisions counts it.
	revision *revisions.Revision[*policyController]
	// incomplete: Set has yet to tell what older revisions have worked on.
	incomplete atomic.Bool
	// ensuredState is the state of what the policy itself ensures; nil if there is none. ensuredProblem
	// is what stands in the way of it. They belong to the worker that has the policy's own key.
	ensuredState   *ownerreconcile.State
	ensuredProblem *plan.Problem
	// kinds are those that the policy names, and those of records of owners beside them.
	kinds *policykinds.Kinds
	// lookAnew: every owner is to be looked at, whatever has changed.
	lookAnew atomic.Bool
	// isClusterScoped: the owners are of a cluster-scoped kind.
	isClusterScoped atomic.Bool
	// scope are the namespaces in which owners may be; see inScope for those in none.
	scope *ownerscope.Scope
	// scopeResolver finds out where owners may be watched. It belongs to the worker that has the
	// policy's own key, but for NowhereProblem, which is safe for concurrent use.
	scopeResolver *ownerviews.Resolver
	// ownerViews are the streams of owners, and what was seen in them. They have a lock of their own.
	ownerViews *ownerviews.Views
	// accountWatch shows the ServiceAccount that the policy acts as; nil: it acts as Ambit itself. It
	// belongs to the worker that has the policy's own key.
	accountWatch *permitted.Watch
	// namespaceList are the namespaces there are, while somebody asks.
	namespaceList *ownerviews.NamespaceList

	// permissions is what the policy may do, and what it makes use of, place by place. It has locks of
	// its own.
	permissions *placepermissions.Tracker
	// inputs finds which streams an owner needs, and reads them.
	inputs *ownerinputs.Planner
	// reconciles is what reconciles of all owners have in common.
	reconciles *ownerreconcile.Options

	// mu guards what is below. It is held over no call but those of ownerViews, which take only the
	// locks of these and of the streams, and of permissions.UsesIndex; streams hold none when they
	// call Changed. It is taken after the lock of the registry of revisions: nothing of the registry is
	// called under it, and of a revision only IsReplaced and IsSucceeding. The streams of owners are replaced under it (installViews): what is known of
	// owners and where they are seen agree for whoever holds it.
	mu     sync.Mutex
	owners *owners.Index[ownerState]
	// quarantine and costs keep the policy from harming others.
	quarantine fairqueue.Quarantine
	costs      fairqueue.CostHistory
	// formerKinds are the kinds that older versions made beside owners, and this one does not;
	// of owners that were made after revisedAt there are none. Not changed once the policy controller
	// works.
	formerKinds []schema.GroupVersionKind
	revisedAt   time.Time
	// isEnsured: what the policy ensures is there, or cleaned up if the policy goes.
	isEnsured bool
	// haveEnsured: it was looked once at what the policy ensures.
	haveEnsured bool
	// cleanupBlockers is what is in the way of cleaning up, by owner.
	cleanupBlockers map[types.NamespacedName][]plan.Problem
	// isHalted: the policy does nothing.
	isHalted bool
	// currentProblem is what keeps the policy as a whole from its work; nil if nothing does.
	currentProblem *plan.Problem
	// loggedServing is what the policy serves, as it was logged last.
	loggedServing string
}

// idOf is Key.Policy of a policy.
func idOf(program *policy.Program) string {
	return v1alpha1.PolicyID(program.Namespace, program.Name)
}

// userName is who the policy acts as, for messages.
func (op *policyController) userName() string {
	return cmp.Or(op.identity, op.controller.options.Identity)
}

// markLookedAt notes that this version has looked at an owner: it has declared what it needs
// for it.
func (op *policyController) markLookedAt(name types.NamespacedName) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.owners.MarkLookedAt(name)
}

// inScope says whether owners in a namespace are wanted.
func (op *policyController) inScope(namespace string) bool {
	return op.isClusterScoped.Load() || op.scope.HasNamespace(namespace)
}

// wantsSeen says whether an owner that a stream shows is one for this policy: it is in the scope, or
// is to be cleaned up after.
func (op *policyController) wantsSeen(owner *unstructured.Unstructured) bool {
	return op.inScope(owner.GetNamespace()) || inventory.IsMarked(op.program.Label, owner)
}

// ownerExists says whether there is, or may be, an owner of that uid: only where all of
// them can be seen it is known that there is none.
func (op *policyController) ownerExists(uid types.UID) bool {
	view := op.ownerViews.ViewOf(allNamespaces)
	if view == nil {
		return true
	}
	owners, status := view.Read()
	return !status.Synced || slices.ContainsFunc(owners, func(o *unstructured.Unstructured) bool { return o.GetUID() == uid })
}
