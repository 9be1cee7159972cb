package faultplan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// What some scenarios promise beside what all do, checked with each write of Ambit.

// judgeMoreLocked checks a change that Ambit made.
func (j *judge) judgeMoreLocked(c sim.Change, obj *unstructured.Unstructured) {
	if c.Old == nil {
		j.every = append(j.every, obj)
	}
	if c.Old != nil && c.New != nil && !j.made[obj.GetUID()] && !isOwner(obj, j.scenario) {
		j.madeAt[keyOf(obj)], j.written[keyOf(obj)] = obj.GetNamespace(), true
		_, claimed := c.New.GetAnnotations()[v1alpha1.AnnotationClaim]
		if claimed || c.New.GetLabels()[v1alpha1.LabelOwnerUID] != "" || metav1.GetControllerOfNoCopy(c.New) != nil {
			j.adopted[obj.GetUID()] = true
		}
		j.judgeForeignFields(c.Old, c.New)
	}
	if c.Old == nil {
		j.judgeDependencies(obj)
	}
	if c.Request.Verb == "delete" {
		j.judgeKept(c, obj)
		j.judgeOrder(c, obj)
		if j.scenario.isOrphan(obj) {
			j.violatedLocked("what is to be left behind stays", "%s was deleted by %s", keyOf(obj), c.Request.Process)
		}
	}
}

// judgeKept: what is deleted of a history is older than what stays of it. Whatever users
// deleted counts as well: Ambit may not have seen that yet.
func (j *judge) judgeKept(c sim.Change, obj *unstructured.Unstructured) {
	owner := j.ownerOf(obj)
	if j.scenario.Keeps == 0 || owner == nil || owner.GetDeletionTimestamp() != nil {
		return
	}
	newer := 0
	for _, other := range j.every {
		if ref := metav1.GetControllerOf(other); other.GetUID() != obj.GetUID() && ref != nil && ref.UID == owner.GetUID() &&
			!other.GetCreationTimestamp().Time.Before(obj.GetCreationTimestamp().Time) {
			newer++
		}
	}
	if newer < j.scenario.Keeps {
		j.violatedLocked("history is kept", "%s was deleted by %s, and only %d are newer", keyOf(obj), c.Request.Process, newer)
	}
}

// isGoing says whether an object is, or was, a child of an owner that is held back, which
// Ambit leaves as it is; or such an owner where Ambit may do nothing.
func (w *World) isGoing(key string) bool {
	var going []types.UID
	all := w.server.Objects()
	for _, obj := range all {
		if isOwner(obj, w.plan.Scenario) && obj.GetDeletionTimestamp() != nil {
			if keyOf(obj) == key && !w.mayActEverywhere() {
				return true
			}
			going = append(going, obj.GetUID())
		}
	}
	if len(going) == 0 {
		return false
	}
	w.judge.mu.Lock()
	all = append(all, w.judge.every...) // it may have gone with its kind, or by a user's hand
	w.judge.mu.Unlock()
	return slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool {
		return keyOf(o) == key && slices.ContainsFunc(going, func(uid types.UID) bool { return isMadeFor(o, uid) })
	})
}

// isLate says whether an object of the reference is of an owner that is deleted and held back:
// that was deleted before the object could be made, and nothing is made for it any more.
func (w *World) isLate(key, text string) bool {
	_, place, _ := strings.Cut(key, " ")
	namespace, _, _ := strings.Cut(place, "/")
	return slices.ContainsFunc(w.server.Objects(), func(o *unstructured.Unstructured) bool {
		return isOwner(o, w.plan.Scenario) && o.GetDeletionTimestamp() != nil && ownerIn(text) == o.GetKind()+" "+o.GetName() &&
			(o.GetNamespace() == "" || o.GetNamespace() == namespace)
	})
}

// heldBack are the keys of the children of owners that are deleted and still there: Ambit
// leaves these as they were when that began.
func (s *Scenario) heldBack(all []*unstructured.Unstructured) (keys []string) {
	for _, owner := range all {
		if !isOwner(owner, s) || owner.GetDeletionTimestamp() == nil {
			continue
		}
		for _, obj := range all {
			if isMadeFor(obj, owner.GetUID()) {
				keys = append(keys, keyOf(obj))
			}
		}
	}
	return keys
}

// isMadeFor says whether an object says that it is made for an owner.
func isMadeFor(obj *unstructured.Unstructured, owner types.UID) bool {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return ref.UID == owner
	}
	return obj.GetLabels()[v1alpha1.LabelOwnerUID] == string(owner)
}

// checkProtected: of the owners there were before all were deleted, those are there that
// were to be held back, with their children.
func (j *judge) checkProtected(w *World, before []*unstructured.Unstructured) {
	now := map[types.UID]bool{}
	for _, obj := range w.server.Objects() {
		now[obj.GetUID()] = true
	}
	for _, owner := range before {
		if !isOwner(owner, j.scenario) || j.isMade(owner.GetUID()) {
			continue
		}
		protected := j.scenario.Protected(w.programs[0], owner, before)
		if protected != now[owner.GetUID()] {
			j.violated("protected owners stay", "%s: protected %t, still there %t", keyOf(owner), protected, now[owner.GetUID()])
		}
		for _, child := range before {
			if protected && isMadeFor(child, owner.GetUID()) && !now[child.GetUID()] {
				j.violated("protected owners stay", "%s is gone, and its owner %s is protected", keyOf(child), keyOf(owner))
			}
		}
	}
}
