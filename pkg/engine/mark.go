package engine

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// mark makes the owner's metadata say what the plan wants it to, unless that was
// tried in this pass already. What it drops from the record has to be confirmed first.
// The pass goes on with the owner as it is then.
func (p *pass) mark(ctx context.Context, mark plan.Mark) (did bool, err error) {
	id := "mark " + markText(mark)
	if p.tried[id] {
		return false, nil
	}
	p.tried[id] = true
	found, ok, err := p.engine.kinds.lookup(p.program.Owner.GVK)
	if !ok {
		return false, err
	}
	home := p.state.sources.home
	if p.held(plan.KeyOwner, func() string { return markText(mark) }, home, home.own.lacks(found.resource.GroupResource(), "", "patch")) {
		return true, nil
	}
	if gone, did, err := p.confirm(ctx, mark); err != nil || !gone {
		delete(p.tried, id)
		return did, err
	}
	client, err := p.engine.options.Clients(p.identity)
	if err != nil {
		return false, err
	}
	applier := apply.Applier{Client: client, Manager: p.manager, Identity: p.user()}
	writing, end := p.traceWrite(ctx, "patch", found.resource.GroupResource().String(), p.owner.GetNamespace())
	outcome := applier.Mark(writing, client.Resource(found.resource).Namespace(p.owner.GetNamespace()), p.owner, mark)
	end(marking(outcome))
	if outcome.Problem != nil {
		p.markRefused(ctx, found, mark, *outcome.Problem)
		return true, nil
	}
	p.marked(ctx, found, outcome)
	return true, nil
}

// markText is equal for marks that say the same.
func markText(mark plan.Mark) string {
	if mark.Finalizer {
		return "finalizer " + mark.Children
	}
	return mark.Children
}

func (p *pass) markRefused(ctx context.Context, owner kind, mark plan.Mark, problem plan.Problem) {
	a := access.Access{Verb: "patch", Group: owner.resource.Group, Resource: owner.resource.Resource, Name: p.owner.GetName()}
	level := 1
	if p.refuse(plan.KeyOwner, markText(mark), p.owner.GetNamespace(), a, problem) && ctx.Err() == nil {
		level = 0
	}
	ctrllog.FromContext(ctx).V(level).Info("the owner cannot be marked", "reason", problem.Reason, "message", problem.Message)
}

// marked takes over the owner as the API server has answered it: the streams that it
// needs do not depend on its marks.
func (p *pass) marked(ctx context.Context, found kind, outcome apply.Outcome) {
	log := ctrllog.FromContext(ctx)
	delete(p.state.refused, plan.KeyOwner)
	switch {
	case outcome.Stale:
		p.stale = true
		log.V(1).Info("the cache is behind; will try again")
	case outcome.Object != nil:
		p.owner = outcome.Object
		p.state.sources.resourceVersion = p.owner.GetResourceVersion()
		p.engine.options.Streams.Observe(p.ownerKey(found), outcome.Object, p.operator)
		log.V(1).Info("owner is marked")
	default: // it is gone: its event says so
		p.stale, p.gone = true, true
		if outcome.Deleted {
			p.state.letGo = p.owner.GetUID()
		}
		log.V(1).Info("owner is let go")
	}
}

// isHeld says whether an owner is held until this policy has cleaned up after it.
func (op *operator) isHeld(owner *unstructured.Unstructured) bool {
	return hasFinalizer(owner) && plan.IsMarked(op.program.Name, owner)
}

func hasFinalizer(owner *unstructured.Unstructured) bool {
	return slices.Contains(owner.GetFinalizers(), v1alpha1.FinalizerCleanup)
}

// lives says whether there is, or may be, an owner of that uid: only where all of
// them can be seen it is known that there is none.
func (op *operator) lives(uid types.UID) bool {
	op.mu.Lock()
	view, ok := op.views[allNamespaces]
	op.mu.Unlock()
	if !ok {
		return true
	}
	owners, status := view.Read()
	return !status.Synced || slices.ContainsFunc(owners, func(o *unstructured.Unstructured) bool { return o.GetUID() == uid })
}
