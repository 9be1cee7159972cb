package controller

import (
	"cmp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// operator is one policy at work. It is an informer.EventHandler for the streams of
// its owners. Safe for concurrent use.
type operator struct {
	engine   *Controller
	id       string
	program  *policy.Program
	manager  string // field manager
	identity string // who the policy acts as, as in informer.Key
	kept     kept
	retiring bool // the policy goes: what is ours is removed
	// began: no owner that is younger was worked on before this version of the policy.
	began time.Time
	// replaced: there is another version of the policy, or none any more. succeeding:
	// older ones still hold what they needed. incomplete: Set has yet to tell what these
	// have worked on.
	replaced, succeeding, incomplete atomic.Bool
	// workers are those that have a key of the policy, worked says that there was one.
	// They are guarded by mu of versions.
	workers int
	worked  bool
	// ensuring is the state of what the policy itself ensures; nil if there is none. It
	// belongs to the worker that has the policy's own key.
	ensuring *ownerState
	// named are the kinds of the policy, recorded those of records of owners beside them.
	named    kindSet
	recorded recorded
	// anew: every owner is to be looked at, whatever has changed.
	anew atomic.Bool
	// roaming: the owners are of a cluster-scoped kind.
	roaming atomic.Bool
	// inside are the namespaces that the scope's selector selects, sorted; nil while
	// they are not known.
	inside atomic.Pointer[[]string]
	// spaces are the namespaces there are; nil while nobody asks, or they are not known.
	spaces atomic.Pointer[spaces]
	// listing: the list of namespaces was asked for on this turn. It belongs to the
	// worker that has the policy's own key.
	listing bool

	// asking is held while asked is changed together with what package access knows
	// of it. It is taken before mu.
	asking sync.Mutex

	// mu guards what is below. It is held over no call but Lister.List, which takes
	// only the lock of its stream; streams hold none when they call Changed.
	mu      sync.Mutex
	views   map[string]informer.Lister // by namespace
	adopted map[string]adopted         // as of which the owners in views were queued
	where   territory                  // as of the views
	members members
	owners  *owners.Index[ownerState]
	uses    uses
	asked   map[string]*asked // by namespace
	// candidates are the namespaces in which owners are looked for one by one.
	candidates []string
	// served are the namespaces in which an owner was ever seen: that nothing may be
	// seen there any more is worth to be told. Of those that were watched together, with
	// all others, when their last owner went, it is not.
	served map[string]bool
	// swept are the streams of children that were looked through for owners that are gone
	// from the stream of owners, by namespace.
	swept map[string]map[informer.Key]bool
	// quarantine and costs keep the policy from harming others.
	quarantine fairqueue.Quarantine
	costs      fairqueue.CostHistory
	// confirms are the turns of owners that have many objects of their records read. It has a
	// lock of its own.
	confirms fairqueue.Throttle
	// former are the kinds that older versions made beside owners, and this one does not;
	// of owners that were made after followed there are none. Not changed once the operator
	// works.
	former   []schema.GroupVersionKind
	followed time.Time
	// bequests are what older versions knew of places, until this one has settled.
	bequests map[string]bequest
	// ensured: what the policy ensures is there, or cleaned up if the policy goes.
	ensured bool
	// seen: it was looked once at what the policy ensures.
	seen bool
	// stuck is what is in the way of cleaning up, by owner.
	stuck map[types.NamespacedName][]plan.Problem
	// surveyed: it is known where owners can be seen. halted: the policy does nothing.
	surveyed, halted bool
	// problem is what keeps the policy as a whole from its work; nil if nothing does.
	problem *plan.Problem
	// narrow is what was logged last to be missing for cluster-wide watches.
	narrow string
	// announced is what the policy serves, as it was logged last.
	announced string
}

func newOperator(e *Controller, program *policy.Program) *operator {
	op := &operator{
		engine: e, id: idOf(program), program: program, began: e.began,
		manager:  v1alpha1.FieldManager(program.Name),
		identity: program.Identity(),
		members:  members{},
		owners:   owners.New[ownerState](),
		uses:     newUses(),
		asked:    map[string]*asked{},
		served:   map[string]bool{},

		swept: map[string]map[informer.Key]bool{},
		stuck: map[types.NamespacedName][]plan.Problem{},
	}
	op.kept = keptBy(program, op.manager)
	op.named = kindSet{}
	for _, gvk := range op.kinds() {
		op.named[gvk] = true
	}
	return op
}

// idOf is Key.Policy of a policy.
func idOf(program *policy.Program) string {
	return strings.TrimPrefix(program.Namespace+"/"+program.Name, "/")
}

// user is who the policy acts as, for messages.
func (op *operator) user() string { return cmp.Or(op.identity, op.engine.options.Identity) }

// release gives everything back. No worker is in the operator, nor will there be one.
func (op *operator) release() {
	for _, name := range op.install(nil, territory{}, true) {
		op.forget(name)
	}
	op.stopLooking()
	op.account().release()
}
