package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer"
)

// sweep subscribes to all children in the streams of an owner, for as long as it takes
// to read them. It is comparable.
type sweep struct{ ownerSubscriber }

var _ informer.EventHandler = sweep{}

// sweep looks once in each run through each stream of children that an owner needs for
// such of owners that are not seen: these may have stopped matching while Ambit was
// away. It opens no stream.
func (p *pass) sweep() {
	if p.owner == nil || p.retiring || !p.isSelective() {
		return
	}
	var needs []informer.Interest
	for i, need := range p.state.sources.needs[:p.state.sources.watching] {
		if need.IndexLabel != "" && p.state.sources.views[i].Synced() && p.isUnswept(need.Key) {
			need.IndexLabel, need.IndexValue = "", ""
			needs = append(needs, need)
		}
	}
	if len(needs) == 0 {
		return
	}
	for _, view := range p.engine.options.Informers.Require(sweep{p.state.subscriber}, needs) {
		for _, child := range view.List() {
			p.lookBehind(child)
		}
	}
	p.engine.options.Informers.Require(sweep{p.state.subscriber}, nil)
}

// isUnswept says whether a stream was not looked through before, and notes that it is.
func (op *operator) isUnswept(key informer.Key) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	here := op.swept[key.Namespace]
	if here == nil {
		here = map[informer.Key]bool{}
		op.swept[key.Namespace] = here
	}
	before := here[key]
	here[key] = true
	return !before
}

// lookBehind has the owner of a child looked for, if the stream of owners does not show
// it.
func (op *operator) lookBehind(child *unstructured.Unstructured) {
	ref := metav1.GetControllerOfNoCopy(child)
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != op.program.Owner.GVK.GroupKind() {
		return
	}
	name := types.NamespacedName{Namespace: child.GetNamespace(), Name: ref.Name}
	if op.roaming.Load() {
		name.Namespace = ""
	}
	key := Key{Policy: op.id, Namespace: name.Namespace, Name: name.Name}
	if owner, _, live := op.owner(key); !live || owner != nil {
		return
	}
	op.mu.Lock()
	op.owners.MarkParentMissing(name, ref.UID)
	op.mu.Unlock()
	op.engine.enqueue(key)
}
