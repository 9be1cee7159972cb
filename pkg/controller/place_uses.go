package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// Package placeuses keeps the books of which owner uses which place. Here it is called, under
// the policy controller's lock, and places are asked about and owners queued as it says.

// crowdedRetry is when an owner looks again whether others have made room.
const crowdedRetry = 30 * time.Second

// setPlaceUses notes what an owner makes use of from now on, and asks about the places.
func (op *policyController) setPlaceUses(owner types.NamespacedName, next placeuses.ByPlace) {
	op.mu.Lock()
	changed := op.placeUses.SetOwner(owner, next)
	op.mu.Unlock()
	for _, place := range changed {
		op.updateRequest(place)
	}
}

// updateRequest declares anew what is asked about a place because of its uses, and takes the
// answer in: that less is asked is no news to anybody, nor is what is known already, and
// what others lack there is reported all the same.
func (op *policyController) updateRequest(place string) {
	op.requestMutex.Lock()
	defer op.requestMutex.Unlock()
	defer op.currentPermissions(place)
	op.mu.Lock()
	before, asked := op.permissionRequests[place]
	used := op.placeUses.IsUsed(place)
	op.mu.Unlock()
	switch {
	case asked && (used || before.extent > asUsed):
		op.putRequestLocked(place, before.extent)
	case used:
		op.putRequestLocked(place, asUsed)
	default:
		op.dropRequestLocked(place)
	}
}

// boundPlaces leaves out of the layout what is beyond the limits of places.
func (l *inputPlanner) boundPlaces() {
	if l.owner == nil {
		return
	}
	l.mu.Lock()
	b := l.policyController.placeUses.FitOwner(l.name, l.uses)
	l.mu.Unlock()
	for _, owner := range b.Crowded {
		l.controller.enqueue(Key{Policy: l.id, Namespace: owner.Namespace, Name: owner.Name})
	}
	if b.Message == "" {
		return
	}
	problem := limitProblem(b.Message)
	l.s.complete, l.s.crowded = false, b.Message
	for place := range b.Out {
		delete(l.uses, place)
	}
	l.childQueries = slices.DeleteFunc(l.childQueries, func(s childQuery) bool {
		if s.elsewhere && b.Out[s.Namespace] {
			l.s.children[s.Location] = inputSource{problem: problem}
			return true
		}
		return false
	})
	for i := range l.watchQueries {
		if w := &l.watchQueries[i]; w.problem == nil && !w.everywhere && b.Out[w.need.Key.Namespace] {
			w.problem = problem
		}
	}
}

// isCrowded reports whether an owner has to make room for others.
func (op *policyController) isCrowded(name types.NamespacedName) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.placeUses.IsCrowded(name)
}

// limitProblem is the problem of an owner that names more than it may.
func limitProblem(message string) *plan.Problem {
	return &plan.Problem{Reason: v1alpha1.ReasonLimitExceeded, Terminal: true, Message: message}
}
