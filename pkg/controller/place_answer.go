package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
)

// answer returns what may be done in a namespace; false: nobody asked. The rights
// are the same pointer until they change.
func (op *operator) answer(namespace string) (*rights, bool) {
	for {
		op.mu.Lock()
		a, ok := op.asked[namespace]
		if !ok {
			op.mu.Unlock()
			return nil, false
		}
		known, old := a.state, a.rights
		op.mu.Unlock()
		state := op.engine.options.Access.State(access.Key{Identity: op.identity, Namespace: namespace})
		if old != nil && sameAnswer(known, state) {
			return old, true
		}
		if r, ok := op.take(namespace, a, old, state); ok {
			return r, true
		}
	}
}

// take makes rights of an answer; false: another worker was faster.
func (op *operator) take(namespace string, a *asked, old *rights, state access.State) (*rights, bool) {
	r := op.judge(namespace, a, state)
	if old != nil && old.reviewed {
		r.reviewed = true // that more is asked by others does not undo it
	}
	op.mu.Lock()
	if a.rights != old || op.asked[namespace] != a || a.state.Generation > state.Generation {
		op.mu.Unlock()
		return nil, false
	}
	a.state = state
	if r.same(old) {
		op.mu.Unlock()
		return old, true
	}
	if old == nil && r.same(a.before) {
		a.rights = a.before
		op.mu.Unlock()
		return a.before, true
	}
	a.rights = r
	op.mu.Unlock()
	op.tellRights(namespace, a, r)
	return r, true
}

// rightsIn returns what may be done for the owners of a namespace, and how long to
// wait while the first answer is not in. Where all was found to be permitted
// cluster-wide, nothing is asked about single namespaces.
func (op *operator) rightsIn(namespace string) (*rights, time.Duration) {
	if r, ok := op.answer(allNamespaces); ok && op.hasAll(r) {
		return r, 0
	}
	op.ask(namespace, atHome)
	r, ok := op.answer(namespace)
	if !ok || !op.askedWhole(namespace) { // by the last owner that left in this moment
		return nil, confirmGrace
	}
	return r, r.pending(op.since(namespace), op.engine.now())
}

// rightsAt is rightsIn for a place that an owner makes use of, which is asked about
// already.
func (op *operator) rightsAt(place string) (*rights, time.Duration) {
	if r, ok := op.answer(allNamespaces); ok && op.hasAll(r) {
		return r, 0
	}
	r, ok := op.answer(place)
	if !ok {
		return nil, confirmGrace
	}
	return r, r.pending(op.since(place), op.engine.now())
}

// hasAll says whether the rights about all namespaces are all that is needed.
func (op *operator) hasAll(r *rights) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	a, ok := op.asked[allNamespaces]
	return ok && a.extent == everything && a.complete && r.reviewed && r.refusal == nil && len(r.missing) == 0
}

func (op *operator) askedWhole(namespace string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	a, ok := op.asked[namespace]
	return ok && a.extent >= atHome
}

// since is when a namespace was first asked about.
func (op *operator) since(namespace string) time.Time {
	op.mu.Lock()
	defer op.mu.Unlock()
	if a, ok := op.asked[namespace]; ok {
		return a.since
	}
	return op.engine.now()
}

// sameAnswer says whether nothing has changed that is acted upon.
func sameAnswer(a, b access.State) bool {
	return a.Generation == b.Generation && a.Reviewed == b.Reviewed && (a.Refusal == nil) == (b.Refusal == nil)
}

// mayWatch says whether a stream may be opened, as far as is known.
func (r *rights) mayWatch(resource schema.GroupResource) bool {
	return r.refusal == nil && r.lacks(resource, "", "list", "watch") == nil
}
