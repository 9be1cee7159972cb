package placepermissions

import (
	"maps"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
)

// CurrentAt returns what may be done in a place; false: nobody asked. The set is the same pointer until
// it changes.
func (t *Tracker) CurrentAt(place string) (*permissionset.Set, bool) {
	for {
		t.mu.Lock()
		a, ok := t.requests[place]
		if !ok {
			t.mu.Unlock()
			return nil, false
		}
		known, old := a.state, a.current
		t.mu.Unlock()
		if old != nil && isSameAnswer(known, t.options.Reviewer.State(t.keyOf(place))) {
			return old, true
		}
		if r, ok := t.takeAnswer(place, a, old); ok {
			return r, true
		}
	}
}

// isSameAnswer reports whether nothing has changed that is acted upon. Of a key that nobody keeps any more, what was
// known stays.
func isSameAnswer(known, now access.State) bool {
	isForgotten := known.Generation > 0 && now.Generation == 0
	return isForgotten || known.Generation == now.Generation && known.Reviewed == now.Reviewed && (known.Refusal == nil) == (now.Refusal == nil)
}

// takeAnswer makes a set of an answer; false: another worker was faster.
func (t *Tracker) takeAnswer(place string, a *request, old *permissionset.Set) (*permissionset.Set, bool) {
	r, state := t.judgeAnswer(place, a)
	if old != nil && old.Reviewed {
		r.Reviewed = true // that more is asked by others does not undo it
	}
	t.mu.Lock()
	if a.current != old || t.requests[place] != a || a.state.Generation > state.Generation {
		t.mu.Unlock()
		return nil, false
	}
	a.state = state
	if r.IsSame(old) {
		t.mu.Unlock()
		return old, true
	}
	if old == nil && r.IsSame(a.before) {
		a.current = a.before
		t.mu.Unlock()
		return a.before, true
	}
	a.current = r
	t.mu.Unlock()
	t.logAnswer(place, a, r)
	return r, true
}

// judgeAnswer makes a set of what is known of a place, and returns the state of the review that says so.
func (t *Tracker) judgeAnswer(place string, a *request) (*permissionset.Set, access.State) {
	_, denied, state := t.options.Reviewer.DecideAll(t.keyOf(place), a.accesses)
	r := &permissionset.Set{Reviewed: state.Reviewed || state.Refusal != nil || len(a.accesses) == 0}
	if state.Refusal != nil {
		r.Refusal = t.options.Refused(state.Refusal)
	}
	required := 0 // those that are denied are in the order of all
	for required < len(denied) && slices.Contains(a.accesses[:a.required], denied[required]) {
		required++
	}
	r.AddDenied(t.placeFor(place), denied[:required], false)
	r.AddDenied(t.placeFor(place), denied[required:], true)
	return r, state
}

// ForOwners returns what may be done for the owners of a namespace, which is asked about from then on,
// and how long to wait while the first answer is not in. Where everything was found to be permitted in
// all namespaces, nothing is asked about single ones.
func (t *Tracker) ForOwners(namespace string) (*permissionset.Set, time.Duration) {
	if r, ok := t.HaveEverything(); ok {
		return r, 0
	}
	t.RequireScope(namespace, AtHome)
	r, ok := t.CurrentAt(namespace)
	if !ok || !t.isForOwners(namespace) { // by the last owner that left in this moment
		return nil, ConfirmGrace
	}
	return r, t.PendingFor(namespace, r)
}

// ForUse is ForOwners for a place that an owner makes use of, which is asked about already.
func (t *Tracker) ForUse(place string) (*permissionset.Set, time.Duration) {
	if r, ok := t.HaveEverything(); ok {
		return r, 0
	}
	r, ok := t.CurrentAt(place)
	if !ok {
		return nil, ConfirmGrace
	}
	return r, t.PendingFor(place, r)
}

// ConfirmGrace is how long a refusal waits to be confirmed by a review before it is told: some round
// trips.
const ConfirmGrace = 500 * time.Millisecond

// HaveEverything returns what may be done in all namespaces together, and whether that is all that the
// policy needs.
func (t *Tracker) HaveEverything() (*permissionset.Set, bool) {
	r, ok := t.CurrentAt(allNamespaces)
	if !ok {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.requests[allNamespaces]
	return r, ok && a.scope == Everything && a.complete && r.Reviewed && r.Refusal == nil && len(r.Missing) == 0
}

func (t *Tracker) isForOwners(namespace string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.requests[namespace]
	return ok && a.scope >= AtHome
}

// PendingFor returns how long to wait for the first answer about a place, of which the set is what is
// known; 0: go on.
func (t *Tracker) PendingFor(place string, r *permissionset.Set) time.Duration {
	now := t.options.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	since := now
	if a, ok := t.requests[place]; ok {
		since = a.since
	}
	return r.PendingFor(since, now)
}

// ReportDenied asks for a review because a request was refused in a namespace: of the place that said
// it would not be.
func (t *Tracker) ReportDenied(namespace string, a access.Access) {
	if _, ok := t.HaveEverything(); ok {
		namespace = allNamespaces
	}
	t.mu.Lock()
	if asked, ok := t.requests[namespace]; ok {
		asked.isDoubted = true
	}
	t.mu.Unlock()
	t.options.Reviewer.ReportDenied(t.keyOf(namespace), a)
}

// ListDenials returns what is missing and required in all places: but for those, only asked about to see
// owners, that isShown does not want. isShown is called under no lock. In no order.
func (t *Tracker) ListDenials(isShown func(namespace string) bool) (list []v1alpha1.DeniedAccess) {
	for place, r := range t.knownAt(isShown) {
		for _, m := range r.Missing {
			if !m.Optional {
				list = append(list, m.Problem.Denied...)
			}
		}
		for _, m := range t.missingToWatchAll(place, r).Missing {
			list = append(list, m.Problem.Denied...)
		}
	}
	return list
}

// knownAt returns what is known of all places that ListDenials is about.
func (t *Tracker) knownAt(isShown func(namespace string) bool) map[string]*permissionset.Set {
	t.mu.Lock()
	known, onlySeen := make(map[string]*permissionset.Set, len(t.requests)), map[string]bool{}
	for place, a := range t.requests {
		if a.current != nil {
			known[place], onlySeen[place] = a.current, a.scope == ToSee
		}
	}
	t.mu.Unlock()
	maps.DeleteFunc(known, func(place string, _ *permissionset.Set) bool { return onlySeen[place] && !isShown(place) })
	return known
}
