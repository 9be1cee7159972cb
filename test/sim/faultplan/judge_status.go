package faultplan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/test/sim"
)

// What an owner says of itself, when it says it.

// judgeStatus: it is never older than what it said before, and no owner says of a child of
// its own that it is somebody else's.
func (j *judge) judgeStatus(c sim.Change) {
	if c.New == nil {
		return
	}
	if before, now := observedGeneration(c.Old), observedGeneration(c.New); now < before {
		j.violatedLocked("observedGeneration never goes back", "that of %s from %d to %d, by %s", keyOf(c.New), before, now, c.Request.Process)
	}
	message := conflictOf(c.New)
	if message == "" || message == conflictOf(c.Old) {
		return
	}
	for uid, child := range j.children {
		if child.owner == c.New.GetUID() && j.alive[uid] && strings.Contains(message, child.name+" exists and is not ours") && !j.mayNotKnow(c.Request.Process, uid, child) && !j.isGivenUp(uid, c.New) {
			j.violatedLocked("an owner knows its children", "%s says, by %s: %s", keyOf(c.New), c.Request.Process, message)
		}
	}
}

// mayNotKnow says whether another process has made a child while this one was running, so
// lately that this one may tell what had the name before.
func (j *judge) mayNotKnow(process string, uid types.UID, child madeChild) bool {
	made := j.times[uid].began
	return child.by != process && !j.started[process].After(made) && time.Since(made) < staleness && time.Since(j.endedAt[child.key]) < staleness
}

// isGivenUp reports whether nothing proves any more that a child was made for its owner: it was left
// behind, so that the owner's record has it no more, and then somebody took a label off.
func (j *judge) isGivenUp(uid types.UID, owner *unstructured.Unstructured) bool {
	record, err := inventory.ParseInventory(owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	return j.unproven[uid] && err == nil && !slices.ContainsFunc(record.Entries, func(e inventory.Entry) bool { return e.UID == uid })
}

// madeChild is a child that Ambit made: for whom, by which process, and how messages name it.
type madeChild struct {
	owner         types.UID
	by, name, key string
}

func childOf(obj, owner *unstructured.Unstructured, by string) madeChild {
	name := fmt.Sprintf("%s %q", obj.GetKind(), obj.GetName())
	if obj.GetNamespace() != "" && obj.GetNamespace() != owner.GetNamespace() {
		name += fmt.Sprintf(" in namespace %q", obj.GetNamespace())
	}
	return madeChild{owner: owner.GetUID(), by: by, name: name, key: keyOf(obj)}
}

// conflictOf is what an owner says of a child whose name somebody else has; empty if it says
// nothing of that sort.
func conflictOf(owner *unstructured.Unstructured) string {
	conditions, _, err := unstructured.NestedSlice(owner.Object, "status", "conditions")
	if err != nil {
		return ""
	}
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if ok && condition["type"] == v1alpha1.ConditionReady && condition["reason"] == v1alpha1.ReasonNameConflict {
			return fmt.Sprint(condition["message"])
		}
	}
	return ""
}

// observedGeneration is the generation that an owner's status is of; 0: it says none.
func observedGeneration(owner *unstructured.Unstructured) int64 {
	generation, _, err := unstructured.NestedInt64(owner.Object, "status", "observedGeneration")
	if err != nil {
		return 0
	}
	return generation
}
