package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// act carries out an action, unless it was tried in this pass already. An action
// that was refused a short while ago counts as done: the refusal still stands.
func (p *pass) act(ctx context.Context, action plan.Action) (did bool, err error) {
	id := fmt.Sprintf("%s %s %s %s", action.Verb, action.GVK, action.Name, action.Digest)
	if p.tried[id] {
		return false, nil
	}
	p.tried[id] = true
	key := problemKey(action)
	if _, refused := p.state.refused[key]; refused {
		if problem, still := p.state.refusedStill(key, write(action), p.engine.now()); still {
			p.problems[key] = problem
			return true, nil
		}
	}
	found, ok, err := p.engine.kinds.lookup(action.GVK)
	if !ok {
		return false, err
	}
	applier := apply.Applier{Client: p.engine.options.Client, Manager: p.manager, Identity: p.engine.options.Identity}
	outcome, err := applier.Do(ctx, action, apply.Target{Resource: found.resource, OwnerUID: p.owner.GetUID()})
	if err != nil {
		return false, err
	}
	p.take(ctx, action, outcome)
	return true, nil
}

// take lets the next plan know how an action ended.
func (p *pass) take(ctx context.Context, action plan.Action, outcome apply.Outcome) {
	log := ctrllog.FromContext(ctx).WithValues("verb", action.Verb, "kind", action.GVK.Kind, "object", action.Name)
	key := problemKey(action)
	if outcome.Problem != nil {
		p.problems[key] = *outcome.Problem
		level := 1
		if p.state.refuse(key, write(action), *outcome.Problem, p.engine.now()) && ctx.Err() == nil {
			level = 0
		}
		log.V(level).Info("refused", "reason", outcome.Problem.Reason, "message", outcome.Problem.Message)
		return
	}
	if _, before := p.state.refused[key]; before && !outcome.Stale {
		log.Info("no longer refused")
		delete(p.state.refused, key)
	}
	switch {
	case outcome.Stale:
		p.stale = true
		log.V(1).Info("the cache is behind; will try again")
	case outcome.Met:
		p.met[action.GVK] = append(p.met[action.GVK], outcome.Object)
		log.V(1).Info("it was there already")
	case outcome.Object != nil:
		p.met[action.GVK] = slices.DeleteFunc(p.met[action.GVK], func(m *unstructured.Unstructured) bool { return m.GetName() == action.Name })
		p.settle(action, outcome.Object)
		p.engine.options.Streams.Observe(p.sourceKey(action), outcome.Object, p.state.subscriber)
		log.V(1).Info("done", "because", action.Reason)
	default:
		delete(p.state.settled, action.UID)
		p.engine.options.Streams.Deleted(p.sourceKey(action), lastSeen(action), p.state.subscriber)
		log.Info("deleted", "because", action.Reason)
	}
}

// settle remembers what the API server made of an object that was applied, where
// it is not what was asked for: applying it again would change nothing. What a
// create left different is for an apply to try.
func (p *pass) settle(action plan.Action, live *unstructured.Unstructured) {
	delete(p.state.settled, live.GetUID())
	if action.Verb != plan.Apply {
		return
	}
	if difference := plan.Diff(action.Object, live, p.manager); len(difference) > 0 {
		p.state.settled[live.GetUID()] = plan.Digest(difference)
	}
}

// problemKey is as plan.Snapshot.Problems has it.
func problemKey(action plan.Action) string {
	if action.Child != "" {
		return action.Child
	}
	return plan.Leftover(action.GVK.Kind, action.Name)
}

// write says what an action writes: equal for equal writes.
func write(action plan.Action) string {
	var object []byte
	if action.Object != nil {
		object, _ = json.Marshal(action.Object.Object) // JSON-like by construction
	}
	return fmt.Sprintf("%s %s %s", action.Verb, action.UID, object)
}

// sourceKey is the stream that shows the object of an action.
func (p *pass) sourceKey(action plan.Action) watch.Key {
	at := p.state.sources.kinds[action.GVK]
	return p.state.sources.needs[at.need].Key
}

// lastSeen is what an action says of the object that it deleted.
func lastSeen(action plan.Action) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(action.GVK)
	obj.SetNamespace(action.Namespace)
	obj.SetName(action.Name)
	obj.SetUID(action.UID)
	obj.SetResourceVersion(action.ResourceVersion)
	return obj
}
