package faultplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/sim"
)

// judge looks at each change that the server accepts, in order, and at what is there at
// rest.
type judge struct {
	scenario *Scenario
	trace    *trace

	mu         sync.Mutex // guards what is below; observe holds it under the lock of the server
	began      bool       // changes count
	violations []Violation
	last       []string           // changes, newest last
	made       map[types.UID]bool // by Ambit, ever
	alive      map[types.UID]bool
	madeAt     map[string]string                        // the namespace of what Ambit ever made, or wrote into, by key
	written    map[string]bool                          // the keys of what others made and Ambit wrote into
	madeFor    map[string]string                        // the namespace of the owner that it was made for, by key
	owners     map[types.UID]*unstructured.Unstructured // as they are now
	foreign    map[string]string                        // texts of objects that nobody is to touch
	adopted    map[types.UID]bool                       // made by others, and taken over by Ambit
	unproven   map[types.UID]bool                       // nothing but a record says whose they are: they have lost a label
	stripped   map[types.UID]bool                       // they have lost a label
	terminated map[string]bool                          // namespaces and kinds that are being deleted, or were
	times      map[types.UID]lifetime                   // of all objects
	every      []*unstructured.Unstructured             // what Ambit ever made, as it was then
	children   map[types.UID]madeChild                  // of what Ambit ever made
	pace       pace                                     // of requests
	overtaken  overtaken
	started    map[string]time.Time // processes, when
	endedAt    map[string]time.Time // when the last object of a key went
}

func newJudge(s *Scenario) *judge {
	return &judge{
		scenario: s, made: map[types.UID]bool{}, alive: map[types.UID]bool{}, madeAt: map[string]string{}, written: map[string]bool{}, madeFor: map[string]string{},
		children: map[types.UID]madeChild{}, adopted: map[types.UID]bool{}, unproven: map[types.UID]bool{}, stripped: map[types.UID]bool{}, terminated: map[string]bool{}, times: map[types.UID]lifetime{},
		owners: map[types.UID]*unstructured.Unstructured{}, started: map[string]time.Time{}, endedAt: map[string]time.Time{},
	}
}

// maxViolations of one plan are told.
const maxViolations = 10

func (j *judge) violated(invariant, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.violatedLocked(invariant, format, args...)
}

func (j *judge) violatedLocked(invariant, format string, args ...any) {
	if len(j.violations) < maxViolations {
		j.violations = append(j.violations, Violation{Invariant: invariant, Text: fmt.Sprintf(format, args...)})
	}
}

// starts notes that a process starts.
func (j *judge) starts(process string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.started[process] = time.Now()
}

func (j *judge) found() []Violation {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.violations)
}

// isMade says whether Ambit made the object of a uid.
func (j *judge) isMade(uid types.UID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.made[uid]
}

// lastWrites are for people.
func (j *judge) lastWrites() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.last, "; ")
}

// maxLast changes are remembered.
const maxLast = 12

// observe is told of each change, with a lock of the server held.
func (j *judge) observe(c sim.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.began {
		return
	}
	obj := c.New
	if obj == nil {
		obj = c.Old
	}
	j.trace.printChange(c, obj)
	j.last = append(j.last, fmt.Sprintf("%s %s %s %s", c.Request.Process, c.Request.Verb, keyOf(obj), c.Request.Subresource))
	if len(j.last) > maxLast {
		j.last = j.last[1:]
	}
	if j.alive[obj.GetUID()] = c.New != nil; c.New == nil {
		delete(j.alive, obj.GetUID())
	}
	j.stripped[obj.GetUID()] = lacksLabels(obj)
	j.unproven[obj.GetUID()] = metav1.GetControllerOfNoCopy(obj) == nil && lacksLabels(obj)
	j.noteLocked(c, obj)
	if c.Request.User == User {
		switch {
		case isOwner(obj, j.scenario) && c.Request.Subresource == "":
			j.overtaken.noteRecord(c.Request.Process, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
		case !isOwner(obj, j.scenario):
			j.overtaken.note(c, obj.GetUID(), j.made[obj.GetUID()])
		}
		j.judgeTurnsLocked(c, keyOf(obj), time.Now())
		j.judgeLocked(c, obj)
		j.judgeMoreLocked(c, obj)
	}
	if isOwner(obj, j.scenario) && !j.made[obj.GetUID()] {
		if j.owners[obj.GetUID()] = c.New; c.New == nil {
			delete(j.owners, obj.GetUID())
		}
	}
}

// judgeLocked checks what Ambit has done.
func (j *judge) judgeLocked(c sim.Change, obj *unstructured.Unstructured) {
	switch {
	case c.Request.Verb == "delete" || c.New == nil && c.Request.Verb != "patch" && c.Request.Verb != "update":
		j.judgeDelete(c, obj)
	case c.Old == nil:
		j.judgeCreate(c, obj)
	case isOwner(obj, j.scenario) && !j.made[obj.GetUID()]:
		j.judgeOwner(c)
	case c.New != nil && j.made[obj.GetUID()]:
		j.judgeChange(c)
	case !j.made[obj.GetUID()] && !j.scenario.takes(obj.GroupVersionKind()):
		j.violatedLocked("what others made is not touched", "%s was changed by %s", keyOf(obj), c.Request.Process)
	}
}

// judgeDelete: only what Ambit made is deleted, by its uid, and not while it is wanted.
func (j *judge) judgeDelete(c sim.Change, obj *unstructured.Unstructured) {
	uid := obj.GetUID()
	if !j.made[uid] && !j.adopted[uid] {
		j.violatedLocked("only what Ambit made is deleted", "%s was deleted by %s", keyOf(obj), c.Request.Process)
	}
	if c.Preconditions == nil || c.Preconditions.UID == nil {
		j.violatedLocked("a delete names the uid", "%s was deleted without", keyOf(obj))
	}
	owner := j.ownerOf(obj)
	if owner != nil && owner.GetDeletionTimestamp() == nil && slices.Contains(j.scenario.Kept, obj.GetKind()) {
		j.violatedLocked("what is wanted is not deleted", "%s of owner %s was deleted by %s", keyOf(obj), keyOf(owner), c.Request.Process)
	}
}

// ownerOf is the owner that an object says it is made for; nil: there is none now.
func (j *judge) ownerOf(obj *unstructured.Unstructured) *unstructured.Unstructured {
	return j.owners[ownerUIDOf(obj)]
}

// judgeCreate: a child is made by a create, which is refused if there is one already; and
// one that no ownerReference ties to its owner is in the owner's record before.
func (j *judge) judgeCreate(c sim.Change, obj *unstructured.Unstructured) {
	if c.Request.Verb != "create" {
		j.violatedLocked("only a create makes an object", "%s was made by a %s of %s", keyOf(obj), c.Request.Verb, c.Request.Process)
	}
	j.made[obj.GetUID()] = true
	j.madeAt[keyOf(obj)] = obj.GetNamespace()
	owner := j.ownerOf(obj)
	if owner == nil { // webhooks take labels away
		owner = j.recordedOwnerOf(obj)
	}
	if owner != nil {
		j.madeFor[keyOf(obj)], j.children[obj.GetUID()] = owner.GetNamespace(), childOf(obj, owner, c.Request.Process)
	}
	if owner == nil || metav1.GetControllerOf(obj) != nil || records(owner, obj) || j.overtaken.isLate(c.Request) {
		return
	}
	j.violatedLocked("the record comes before the object", "%s was made, and is not in the record of owner %s", keyOf(obj), keyOf(owner))
}

// recordedOwnerOf is an owner that has an object in its record; nil: there is none now.
func (j *judge) recordedOwnerOf(obj *unstructured.Unstructured) *unstructured.Unstructured {
	for _, uid := range slices.Sorted(maps.Keys(j.owners)) {
		if owner := j.owners[uid]; owner != nil && records(owner, obj) {
			return owner
		}
	}
	return nil
}

// records says whether an owner's record has an object, by its name.
func records(owner, obj *unstructured.Unstructured) bool {
	record, err := inventory.ParseInventory(owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	return err == nil && slices.ContainsFunc(record.Entries, func(e inventory.Entry) bool {
		return e.GVK.GroupKind() == obj.GroupVersionKind().GroupKind() && e.Namespace == obj.GetNamespace() && e.Name == obj.GetName()
	})
}

// judgeOwner: what an owner says is true; and the finalizer goes after the last child that
// garbage collection cannot remove.
func (j *judge) judgeOwner(c sim.Change) {
	j.judgeStatus(c)
	j.judgeForeignOfOwner(c)
	had := slices.Contains(c.Old.GetFinalizers(), v1alpha1.FinalizerCleanup)
	if c.New != nil && (!had || slices.Contains(c.New.GetFinalizers(), v1alpha1.FinalizerCleanup)) {
		return
	}
	record, err := inventory.ParseInventory(c.Old.GetAnnotations()[v1alpha1.AnnotationChildren])
	if err != nil {
		return
	}
	for _, e := range record.Entries {
		if j.isThereLocked(e) {
			j.violatedLocked("the finalizer goes last", "owner %s was let go, and %s %s/%s is there", keyOf(c.Old), e.GVK.Kind, e.Namespace, e.Name)
		}
	}
}

// judgeForeignOfOwner: of an owner Ambit writes its status, its finalizer and its annotations, and nothing else.
func (j *judge) judgeForeignOfOwner(c sim.Change) {
	if j.scenario.takes(c.Old.GroupVersionKind()) {
		return // it may be merged into, or taken over
	}
	if c.New == nil { // it was let go: nobody else may have held it
		if others := stripped(c.Old.DeepCopy(), j.scenario).GetFinalizers(); len(others) > 0 {
			j.violatedLocked("the rest of an owner is not touched", "%s was let go by %s, and had the finalizers %s", keyOf(c.Old), c.Request.Process, others)
		}
		return
	}
	was, is := textOf(stripped(c.Old.DeepCopy(), j.scenario)), textOf(stripped(c.New.DeepCopy(), j.scenario))
	if was != is {
		j.violatedLocked("the rest of an owner is not touched", "%s was changed by %s (-before +after):\n%s", keyOf(c.New), c.Request.Process, cmp.Diff(inLines(was), inLines(is)))
	}
}

// judgeChange: a child that was made for an owner is not another one's by an apply: also who
// has the name of one that is gone is another.
func (j *judge) judgeChange(c sim.Change) {
	before, now := ownerUIDOf(c.Old), ownerUIDOf(c.New)
	if before != "" && now != "" && before != now && !j.scenario.takes(c.New.GroupVersionKind()) {
		j.violatedLocked("a child keeps its owner", "%s of owner %s was given to owner %s by %s", keyOf(c.New), before, now, c.Request.Process)
	}
}

// ownerUIDOf is the uid of the owner that an object says it is made for; empty if it says
// none.
func ownerUIDOf(obj *unstructured.Unstructured) types.UID {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return ref.UID
	}
	return types.UID(obj.GetLabels()[v1alpha1.LabelOwnerUID])
}

// takes says whether a version of the policy has a child of a kind that takes over, or adds
// to, what others made.
func (s *Scenario) takes(gvk schema.GroupVersionKind) bool {
	return slices.ContainsFunc(s.Versions, func(program *policy.Program) bool {
		return slices.ContainsFunc(program.Children, func(c *policy.Child) bool {
			return c.GVK == gvk && (c.Existing == v1alpha1.ExistingAdopt || c.Existing == v1alpha1.ExistingMerge)
		})
	})
}
