package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// sources are the streams that an owner's plan is made from. They depend on the
// owner's content, on how its namespace's watches are laid out, and on which
// kinds are known, and on nothing else.
type sources struct {
	uid             types.UID
	resourceVersion string
	shared          bool
	complete        bool // every kind is known

	needs    []watch.Need
	views    []watch.View
	kinds    map[schema.GroupVersionKind]slot // of children
	children map[string]slot                  // by child id
	watches  map[string]slot                  // by watch id
}

// slot says where the input of one child or watch comes from: a need, or
// nowhere for a reason.
type slot struct {
	need    int
	problem *plan.Problem
}

// holds says whether the sources of an earlier pass are still right.
func (s *sources) holds(owner *unstructured.Unstructured, shared bool) bool {
	return s != nil && s.complete && s.shared == shared && s.uid == owner.GetUID() && s.resourceVersion == owner.GetResourceVersion()
}

// sources plans the streams for an owner. It makes no request.
func (op *operator) sources(ctx context.Context, owner *unstructured.Unstructured, shared bool) *sources {
	s := &sources{
		uid: owner.GetUID(), resourceVersion: owner.GetResourceVersion(), shared: shared, complete: true,
		kinds: map[schema.GroupVersionKind]slot{}, children: map[string]slot{}, watches: map[string]slot{},
	}
	for _, child := range op.program.Children {
		if _, ok := s.kinds[child.GVK]; !ok {
			s.kinds[child.GVK] = op.childSource(s, owner, child.GVK)
		}
		s.children[child.ID] = s.kinds[child.GVK]
	}
	scope := plan.Bind(ctx, op.program, owner)
	for _, w := range op.program.Watches {
		s.watches[w.ID] = op.watchSource(ctx, s, owner, w, scope)
	}
	return s
}

// childSource needs the stream of all children that the policy has of a kind in
// the owner's namespace, and of it this owner's.
func (op *operator) childSource(s *sources, owner *unstructured.Unstructured, gvk schema.GroupVersionKind) slot {
	found, problem := op.resource(s, gvk)
	if problem != nil {
		return slot{problem: problem}
	}
	p := op.kept.children[gvk]
	return s.add(watch.Need{
		Key:    watch.Key{GVR: found.resource, Namespace: owner.GetNamespace(), LabelSelector: op.kept.ours, Form: p.form},
		Fields: p.fields, IndexLabel: v1alpha1.LabelOwnerUID, IndexValue: string(owner.GetUID()),
	})
}

// watchSource needs a stream for exactly this owner while few owners are in the
// namespace, else the one that all of them share, and of it what is indexed
// under this owner's value.
func (op *operator) watchSource(ctx context.Context, s *sources, owner *unstructured.Unstructured, w *policy.Watch, scope cel.Activation) slot {
	found, problem := op.resource(s, w.GVK)
	if problem != nil {
		return slot{problem: problem}
	}
	p := op.kept.watches[w.ID]
	need := watch.Need{
		Key:    watch.Key{GVR: found.resource, Namespace: owner.GetNamespace(), FieldSelector: w.FieldSelector, Form: p.form},
		Fields: p.fields, Kind: w.GVK.Kind,
	}
	exact, err := w.Selector.For(ctx, scope)
	if err != nil {
		return slot{problem: &plan.Problem{Reason: v1alpha1.ReasonExpressionFailed, Terminal: true,
			Message: fmt.Sprintf("selector of watch %q: %v", w.ID, err)}}
	}
	need.Key.LabelSelector = exact.String()
	if s.shared && w.Selector.OwnerSpecific() {
		need.Key.LabelSelector = w.Selector.Relaxed()
		if key, value, err := w.Selector.Index(ctx, scope); err == nil {
			need.IndexLabel, need.IndexValue = key, value
		}
	}
	return s.add(need)
}

func (s *sources) add(need watch.Need) slot {
	s.needs = append(s.needs, need)
	return slot{need: len(s.needs) - 1}
}

// resource finds the resource of a kind that lives in namespaces.
func (op *operator) resource(s *sources, gvk schema.GroupVersionKind) (kind, *plan.Problem) {
	found, ok, err := op.engine.kinds.lookup(gvk)
	switch {
	case meta.IsNoMatchError(err):
		s.complete = false
		return kind{}, &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true,
			Message: fmt.Sprintf("the API server does not serve kind %s in %s", gvk.Kind, gvk.GroupVersion())}
	case err != nil:
		s.complete = false
		return kind{}, &plan.Problem{Reason: v1alpha1.ReasonUnavailable,
			Message: fmt.Sprintf("looking up kind %s in %s: %v", gvk.Kind, gvk.GroupVersion(), err)}
	case !ok:
		s.complete = false
		return kind{}, &plan.Problem{Reason: v1alpha1.ReasonSyncing,
			Message: fmt.Sprintf("looking up kind %s in %s", gvk.Kind, gvk.GroupVersion())}
	case !found.namespaced:
		return kind{}, &plan.Problem{Reason: v1alpha1.ReasonNotSupported, Terminal: true,
			Message: fmt.Sprintf("kind %s is cluster-scoped: such children and watches are not implemented yet", gvk.Kind)}
	}
	return found, nil
}
