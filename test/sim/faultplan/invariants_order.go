package faultplan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/sim"
)

// What children of generated policies promise to each other: who comes first, who goes
// first, who stays.

// staleness is how old a view of Ambit's may be while streams lag, requests take long, and
// streams that ended are opened again.
const staleness = 2 * time.Minute

// lifetime is that of an object; what has not happened is zero.
type lifetime struct{ began, ready, ended time.Time }

// noteLocked notes when objects come, become ready and go, and looks for what goes that is
// to stay.
func (j *judge) noteLocked(c sim.Change, obj *unstructured.Unstructured) {
	life, now := j.times[obj.GetUID()], time.Now()
	if c.Old == nil {
		life.began = now
	}
	if obj.GetKind() != "Widget" || hasReady(obj) {
		life.ready = now
	}
	if c.New == nil {
		life.ended, j.endedAt[keyOf(obj)] = now, now
	}
	j.times[obj.GetUID()] = life
	if obj.GetKind() == "Namespace" && obj.GetDeletionTimestamp() != nil {
		j.terminated[obj.GetName()] = true
	}
	if kind, found, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind"); found && obj.GetDeletionTimestamp() != nil {
		j.terminated[kind] = true
	}
	if c.New == nil && c.Request.User == "" && j.scenario.isOrphan(obj) && !j.terminated[obj.GetNamespace()] && !j.terminated[obj.GetKind()] {
		j.violatedLocked("what is to be left behind stays", "%s was collected as garbage", keyOf(obj))
	}
}

func hasReady(obj *unstructured.Unstructured) bool {
	ready, _, _ := unstructured.NestedBool(obj.Object, "status", "ready")
	return ready
}

// numberOf is the number of the child that an object is made for; -1: of none.
func (s *Scenario) numberOf(obj *unstructured.Unstructured) int {
	_, after, found := strings.Cut(obj.GetName(), "-c")
	text, _, _ := strings.Cut(after, "-")
	number, err := strconv.Atoi(text)
	if s.recipes == nil || !found || err != nil {
		return -1
	}
	return number
}

// isOrphan says whether an object is of a child that is left behind.
func (s *Scenario) isOrphan(obj *unstructured.Unstructured) bool {
	return s.isOfMode(obj, orphan)
}

// mayRemain says whether an object may be there that the reference has not: somebody took
// its labels off, so that nobody sees that it is Ambit's until its owner goes; it is left
// behind; or Ambit may do nothing in some namespace, and cannot say yet that it is to go.
func (j *judge) mayRemain(key string, w *World) bool {
	all := w.server.Objects()
	i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return keyOf(o) == key })
	if i < 0 || !j.isMade(all[i].GetUID()) {
		return false
	}
	unseen := all[i].GetLabels()[v1alpha1.LabelPolicy] == "" || all[i].GetLabels()[v1alpha1.LabelOwnerUID] == ""
	return unseen || j.scenario.isOrphan(all[i]) || j.scenario.Wide && !w.mayActEverywhere()
}

// always are the children that one depends on in all versions.
func (s *Scenario) always(number int) (before []ingredient) {
	for _, c := range s.recipes[0].children {
		if !slices.ContainsFunc(s.recipes, func(r *recipe) bool { return !r.depends(number, c.number) }) {
			before = append(before, c)
		}
	}
	return before
}

// depends says whether a child names another one, and both are there.
func (made *recipe) depends(number, other int) bool {
	return slices.ContainsFunc(made.children, func(c ingredient) bool { return c.number == number && slices.Contains(c.dependsOn, other) })
}

// judgeDependencies: a child comes after those that it depends on, when they are ready.
func (j *judge) judgeDependencies(obj *unstructured.Unstructured) {
	number := j.scenario.numberOf(obj)
	owner := j.ownerOf(obj)
	if number < 0 || owner == nil {
		return
	}
	for _, before := range j.scenario.always(number) {
		if !before.each && !j.wasReady(owner.GetUID(), before.number) {
			j.violatedLocked("what another depends on comes first", "%s was made, and child %d was not ready", keyOf(obj), before.number)
		}
	}
}

// wasReady says whether the object of a child is ready, or was when Ambit may have looked. An
// object whose label a webhook took away when it was made belongs to the owner that had it on record.
func (j *judge) wasReady(owner types.UID, number int) bool {
	return slices.ContainsFunc(j.every, func(o *unstructured.Unstructured) bool {
		life := j.times[o.GetUID()]
		of := isMadeFor(o, owner) || j.children[o.GetUID()].owner == owner
		return j.scenario.numberOf(o) == number && of && !life.ready.IsZero() &&
			(life.ended.IsZero() || time.Since(life.ended) < staleness)
	})
}

// judgeOrder: of an owner that is deleted in order, what depends on a child has gone before
// it. What has lost a label by which it is found is not seen.
func (j *judge) judgeOrder(c sim.Change, obj *unstructured.Unstructured) {
	number, owner := j.scenario.numberOf(obj), j.ownerOf(obj)
	if number < 0 || owner == nil || owner.GetDeletionTimestamp() == nil || slices.ContainsFunc(j.scenario.recipes, func(r *recipe) bool { return !r.ordered }) {
		return
	}
	for _, other := range j.every {
		life, dependent := j.times[other.GetUID()], j.scenario.numberOf(other)
		if dependent < 0 || !isMadeFor(other, owner.GetUID()) || j.stripped[other.GetUID()] || j.scenario.isOrphan(other) || !life.ended.IsZero() || time.Since(life.began) < staleness {
			continue
		}
		if slices.ContainsFunc(j.scenario.always(dependent), func(before ingredient) bool { return before.number == number }) {
			j.violatedLocked("what depends on another goes first", "%s was deleted by %s, and %s is there", keyOf(obj), c.Request.Process, keyOf(other))
		}
	}
}

// isWrittenOnce says whether a version of the policy makes an object and does not write to it again.
func (s *Scenario) isWrittenOnce(obj *unstructured.Unstructured) bool {
	if s.recipes != nil {
		return s.isOfMode(obj, create, recreate)
	}
	return slices.ContainsFunc(s.Versions, func(p *policy.Program) bool {
		return slices.ContainsFunc(p.Children, func(c *policy.Child) bool { return c.GVK.Kind == obj.GetKind() && c.Apply == v1alpha1.ApplyCreate })
	})
}

// isOfMode says whether a version of a generated policy keeps an object in one of these modes.
func (s *Scenario) isOfMode(obj *unstructured.Unstructured, modes ...mode) bool {
	number := s.numberOf(obj)
	return slices.ContainsFunc(s.recipes, func(r *recipe) bool {
		return slices.ContainsFunc(r.children, func(c ingredient) bool { return c.number == number && slices.Contains(modes, c.mode) })
	})
}
