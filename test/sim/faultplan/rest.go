package faultplan

import (
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is checked when a plan is over and everything is at rest.

// atRest: what is there is what an undisturbed Ambit would have made of the same; and
// nothing happens any more.
func (j *judge) atRest(w *World) {
	want, err := w.plan.Scenario.references.of(w)
	if err != nil {
		w.problem("%v", err)
		return
	}
	j.compare(want, texts(w.server, w.known), w)
	j.compareForeign(w)
	j.checkStreams(w)
	if check := w.plan.Scenario.AtRest; check != nil {
		check(j, w)
	}
	j.lookOn(w)
}

// compare is about everything that there is; but where Ambit has no rights, children are
// as they were before.
func (j *judge) compare(want, have map[string]string, w *World) {
	keys := maps.Clone(want)
	maps.Copy(keys, have)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		is, there := have[key]
		should, wanted := want[key]
		switch {
		case w.isFrozen(key), w.mayTellMore(key), w.isGoing(key):
		case !wanted && (j.scenario.Remembers || j.mayRemain(key, w) || w.mayBeForgotten(key) || w.isUnlabelled(key) || j.isOvertakenAt(key, w)):
		case !wanted:
			j.violated("what should not be is not there", "%s", key)
		case !there:
			j.violated("what should be is there", "%s is missing", key)
		case is != should && j.comparable(is) != j.comparable(should) && !j.isOvertakenAt(key, w):
			j.violated("what is there is as it should be", "%s (-reference +plan):\n%s", key, cmp.Diff(inLines(should), inLines(is)))
		}
	}
}

// lookOn: nothing is written while nothing happens, and little is read.
func (j *judge) lookOn(w *World) {
	before, asked := w.server.ResourceVersion(), w.asked()
	time.Sleep(watching)
	if after := w.server.ResourceVersion(); after != before {
		j.violated("nothing is written at rest", "%d writes in %s: %s", after-before, watching, j.lastWrites())
	}
	lists := w.asked() - asked
	if most := maxListsAtRest; lists > most {
		j.violated("nothing is listed at rest", "%d lists and gets in %s", lists, watching)
	}
}

// maxListsAtRest is how many lists and gets there may be while it is looked on: those that
// look whether a right is there again.
const maxListsAtRest = 20

// checkStreams: what is watched may be watched.
func (j *judge) checkStreams(w *World) {
	for _, r := range w.server.Watches() {
		if r.User == User && !w.server.Allows(r) {
			j.violated("a revoked stream is closed", "%s %s in namespace %q is watched", r.Verb, r.Resource.Resource, r.Namespace)
		}
	}
}

// atCleanup: of owners that are deleted nothing is left over, where Ambit may act.
func (j *judge) atCleanup(w *World) {
	for _, obj := range w.server.Objects() {
		if j.isMade(obj.GetUID()) && w.mayAct(obj.GetNamespace()) && !j.stays(obj) && (metav1.GetControllerOfNoCopy(obj) != nil || !j.isOvertaken(obj.GetUID())) {
			j.violated("nothing is left over", "%s", keyOf(obj))
		}
		if isOwner(obj, j.scenario) && obj.GetDeletionTimestamp() != nil && w.mayAct(obj.GetNamespace()) && !j.isMade(obj.GetUID()) {
			j.violated("owners can be deleted", "%s is still there:\n%s", keyOf(obj), inLines(textOf(obj)))
		}
	}
	j.checkMerged(w)
	for _, r := range w.server.Watches() {
		if r.User == User && !w.mayBeOpen(r) {
			j.violated("no stream without an owner", "%s in namespace %q is watched", r.Resource.Resource, r.Namespace)
		}
	}
}

// atEnd: a process that has ended leaves no stream.
func (j *judge) atEnd(w *World) {
	for _, r := range w.server.Watches() {
		j.violated("no stream is left", "%s in namespace %q by %s", r.Resource.Resource, r.Namespace, r.Process)
	}
}
