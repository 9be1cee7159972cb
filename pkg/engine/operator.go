package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// operator is one policy at work. It is a watch.Subscriber for the streams of
// its owners. Safe for concurrent use.
type operator struct {
	engine  *Engine
	id      string
	program *policy.Program
	manager string // field manager
	kept    kept
	// announced: what the policy serves was logged.
	announced atomic.Bool

	// mu guards what is below. It is held over no call but View.List, which takes
	// only the lock of its stream; streams hold none when they call Changed.
	mu      sync.Mutex
	views   map[string]watch.View
	members members
	owners  map[types.NamespacedName]*ownerState
}

func newOperator(e *Engine, program *policy.Program) *operator {
	op := &operator{
		engine: e, id: strings.TrimPrefix(program.Namespace+"/"+program.Name, "/"), program: program,
		manager: v1alpha1.FieldManager(program.Name),
		members: members{},
		owners:  map[types.NamespacedName]*ownerState{},
	}
	op.kept = keptBy(program, op.manager)
	return op
}

// reconcile takes care of the policy as a whole: it declares the streams of its
// owners and queues every owner that they hold.
func (op *operator) reconcile(ctx context.Context) error {
	log := ctrllog.FromContext(ctx)
	if op.program.Suspend {
		log.Info("policy is suspended")
		return nil
	}
	if !op.lookedUp() {
		return nil
	}
	owner, ok, err := op.engine.kinds.lookup(op.program.Owner.GVK)
	if err != nil {
		log.Info("waiting for the owner's kind", "kind", op.program.Owner.GVK.String(), "reason", err.Error())
		return nil
	}
	if !ok {
		return nil
	}
	if !owner.namespaced {
		log.Info("policy cannot run: owners of a cluster-scoped kind are not implemented yet", "kind", op.program.Owner.GVK.String())
		return nil
	}
	if len(scope(op.program, op.engine.options.Namespaces)) == 0 {
		log.Info("policy has nothing to do: its scope and the namespaces of this process have none in common")
	}
	views := op.watchOwners(owner)
	op.adopt(views)
	op.announce(ctx, views)
	return nil
}

// lookedUp says whether every kind of the policy was looked up at least once,
// so that the first pass over an owner does not take a kind for missing.
func (op *operator) lookedUp() bool {
	all := true
	for _, gvk := range op.kinds() {
		_, ok, err := op.engine.kinds.lookup(gvk)
		all = all && (ok || err != nil)
	}
	return all
}

func (op *operator) kinds() []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{op.program.Owner.GVK}
	for _, child := range op.program.Children {
		kinds = append(kinds, child.GVK)
	}
	for _, w := range op.program.Watches {
		kinds = append(kinds, w.GVK)
	}
	return kinds
}

// watchOwners declares one stream of owners for each namespace in scope, or one
// for all namespaces.
func (op *operator) watchOwners(owner kind) map[string]watch.View {
	namespaces := scope(op.program, op.engine.options.Namespaces)
	needs := make([]watch.Need, len(namespaces))
	for i, namespace := range namespaces {
		needs[i] = op.ownerNeed(owner, namespace)
	}
	views := make(map[string]watch.View, len(needs))
	for i, view := range op.engine.options.Streams.Keep(op, needs) {
		views[namespaces[i]] = view
	}
	return views
}

// ownerNeed is the stream of owners of a namespace, or of all.
func (op *operator) ownerNeed(owner kind, namespace string) watch.Need {
	return watch.Need{
		Key: watch.Key{
			GVR: owner.resource, Namespace: namespace,
			LabelSelector: op.program.Owner.LabelSelector, FieldSelector: op.program.Owner.FieldSelector,
			Form: op.kept.owner.form,
		},
		Fields: op.kept.owner.fields,
	}
}

// announce logs once what the policy serves, when all its streams of owners are
// there or refused.
func (op *operator) announce(ctx context.Context, views map[string]watch.View) {
	var served, refused []string
	owners := 0
	for namespace, view := range views {
		objects, status := view.Read()
		switch {
		case status.Synced:
			owners += len(objects)
			served = append(served, cmp.Or(namespace, "all"))
		case status.State.Final():
			refused = append(refused, cmp.Or(namespace, "all"))
		default:
			return
		}
	}
	if op.announced.Swap(true) {
		return
	}
	slices.Sort(served)
	slices.Sort(refused)
	log := ctrllog.FromContext(ctx).WithValues("kind", op.program.Owner.GVK.Kind)
	log.Info("serving", "namespaces", served, "refused", refused, "owners", owners)
	if status := views[allNamespaces].Status(); status.State == watch.Forbidden {
		log.Info("owners may not be watched in all namespaces: grant that, or give the namespaces by --namespaces or spec.scope.namespaces")
	}
}

// adopt takes the views over and queues every owner in them, and every owner
// that is no longer in them but was worked on before.
func (op *operator) adopt(views map[string]watch.View) {
	for name := range op.install(views) {
		op.engine.enqueue(Key{Policy: op.id, Namespace: name.Namespace, Name: name.Name})
	}
}

// install lists the owners and takes over the views in one step: an owner that
// comes before it is in the list, one that comes after it finds the views.
func (op *operator) install(views map[string]watch.View) map[types.NamespacedName]bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	names := make(map[types.NamespacedName]bool, len(op.owners))
	for name := range op.owners {
		names[name] = true
	}
	op.views, op.members = views, members{}
	for _, view := range views {
		for _, owner := range view.List() {
			name := types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}
			if op.inScope(name.Namespace) {
				op.members.add(name.Namespace, name.Name)
				names[name] = true
			}
		}
	}
	return names
}

// Changed implements watch.Subscriber for the streams of owners.
func (op *operator) Changed(event watch.Event) {
	if event.Object == nil {
		op.engine.enqueue(Key{Policy: op.id})
		return
	}
	namespace, name := event.Object.GetNamespace(), event.Object.GetName()
	if !op.inScope(namespace) {
		return
	}
	op.mu.Lock()
	var again []string // owners whose watches are laid out anew
	switch event.Type {
	case watch.Deleted:
		again = op.members.remove(namespace, name)
	case watch.Added:
		again = op.members.add(namespace, name)
	}
	op.mu.Unlock()
	op.engine.enqueue(Key{Policy: op.id, Namespace: namespace, Name: name})
	for _, other := range again {
		op.engine.enqueue(Key{Policy: op.id, Namespace: namespace, Name: other})
	}
}

func (op *operator) inScope(namespace string) bool {
	return !slices.Contains(op.program.Exclude, namespace)
}

// shared says whether the owner-specific watches of a namespace are shared.
func (op *operator) shared(namespace string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.members.shared(namespace)
}

// owner reads an owner from the cache. live is false when its stream is not, so
// that nothing can be concluded from its absence.
func (op *operator) owner(key Key) (owner *unstructured.Unstructured, live bool) {
	op.mu.Lock()
	view, ok := op.views[op.streamOfLocked(key.Namespace)]
	op.mu.Unlock()
	if !ok || !view.Synced() {
		return nil, false
	}
	owner = view.Get(key.Namespace, key.Name)
	// A stream that was refused in between has lost its objects.
	return owner, owner != nil || view.Synced()
}

// streamOfLocked names the stream of owners that shows a namespace: its own, or that
// of all namespaces. The caller holds mu.
func (op *operator) streamOfLocked(namespace string) string {
	if _, ok := op.views[namespace]; ok {
		return namespace
	}
	return allNamespaces
}

// serves says whether the policy's filter wants this owner. An owner without a
// field that the filter reads is not wanted.
func (op *operator) serves(ctx context.Context, owner *unstructured.Unstructured) bool {
	filter := op.program.Owner.Filter
	if filter == nil {
		return true
	}
	wanted, err := filter.EvalBool(ctx, cel.Activation{"object": owner.Object})
	if err != nil && !cel.IsNoSuchKey(err) {
		ctrllog.FromContext(ctx).Info("the owner filter failed; the owner is left alone", "reason", err.Error())
	}
	return wanted && err == nil
}

// release gives every stream back.
func (op *operator) release() {
	op.mu.Lock()
	owners := op.owners
	op.owners = map[types.NamespacedName]*ownerState{}
	op.mu.Unlock()
	for name := range owners {
		op.engine.options.Streams.Keep(op.subscriber(name), nil)
	}
	op.engine.options.Streams.Keep(op, nil)
}
