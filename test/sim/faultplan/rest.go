package faultplan

import (
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
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
		case !there && w.isLate(key, should):
		case !there:
			j.violated("what should be is there", "%s is missing", key)
		case is != should && j.comparable(is) != j.comparable(should) && !j.isOvertakenAt(key, w) && !(w.isHeldForGone(key) && j.comparable(withoutHold(is)) == j.comparable(should)) &&
			!(w.isUnlabelled(key) && j.comparable(is) == j.comparable(withoutManagedBy(should))):
			j.violated("what is there is as it should be", "%s (-reference +plan):\n%s", key, cmp.Diff(inLines(should), inLines(is)))
		}
	}
}

// isHeldForGone reports whether the record of an owner names an object that fields were merged
// into, or were to be, and that is gone: as long as it is wanted it stays on record, as the view
// of it may be older than the record.
func (w *World) isHeldForGone(key string) bool {
	return slices.ContainsFunc(w.server.Objects(), func(obj *unstructured.Unstructured) bool {
		if keyOf(obj) != key || !isOwner(obj, w.plan.Scenario) {
			return false
		}
		record, err := inventory.ParseInventory(obj.GetAnnotations()[v1alpha1.AnnotationChildren])
		return err == nil && slices.ContainsFunc(record.Entries, func(e inventory.Entry) bool { return e.Merged && !w.isThere(e) })
	})
}

// isThere reports whether there is the object of an entry.
func (w *World) isThere(e inventory.Entry) bool {
	return slices.ContainsFunc(w.server.Objects(), func(obj *unstructured.Unstructured) bool {
		return obj.GroupVersionKind().GroupKind() == e.GVK.GroupKind() && obj.GetNamespace() == e.Namespace && obj.GetName() == e.Name && obj.GetUID() == e.UID
	})
}

// withoutHold is the text of an owner without Ambit's finalizer.
func withoutHold(text string) string {
	return editText(text, func(owner *unstructured.Unstructured) {
		rest := slices.DeleteFunc(owner.GetFinalizers(), func(f string) bool { return f == v1alpha1.FinalizerCleanup })
		if len(rest) == 0 {
			rest = nil // none at all
		}
		owner.SetFinalizers(rest)
	})
}

// withoutManagedBy is the text of a child without the label that says that Ambit manages it: nothing puts
// that back on what is unlabelled and need not be found.
func withoutManagedBy(text string) string {
	return editText(text, func(obj *unstructured.Unstructured) {
		stripLabels(obj, func(key string) bool { return key == v1alpha1.LabelManagedBy })
		if len(obj.GetLabels()) == 0 {
			obj.SetLabels(nil)
		}
	})
}

// editText changes the object that a text was written from.
func editText(text string, edit func(*unstructured.Unstructured)) string {
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		return text // it was written from an object
	}
	edit(&unstructured.Unstructured{Object: content})
	out, err := yaml.Marshal(content)
	if err != nil {
		return text
	}
	return string(out)
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
