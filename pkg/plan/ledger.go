package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// ledger is what the owner's metadata says of its children, and what it has to say.
type ledger struct {
	text string
	old  Inventory
	// err says why the text cannot be read.
	err error
	// finalizer: ambit.dev/cleanup stands on the owner.
	finalizer bool
	// foreign is the policy whose record and finalizer these are, if it is another one:
	// all that is known here is then as if there were none.
	foreign string
	// index finds the objects of old, made when it is first needed.
	index  map[ObjectKey]int
	places map[place]bool
	// next are the entries to be, those that covered has, and those that stay.
	next          []Entry
	covered       map[ObjectKey]bool
	coveredPlaces map[place]bool
	// finalizes: the finalizer has to be there.
	finalizes bool
	// waiting are the places that are not looked at yet, by findWaiting.
	waiting map[site]bool
}

// openLedger reads the metadata of an owner as the program has to. Of a record that is not
// believed there is nothing but the error, so that nothing is looked for because of it.
func openLedger(program *policy.Program, owner *unstructured.Unstructured) ledger {
	l := readLedger(program.Name, owner)
	if l.err == nil {
		l.err = believe(program, l.old)
	}
	if l.err != nil {
		l.old = Inventory{}
	}
	l.old.Owner = owner.GetUID()
	return l
}

// readLedger reads the metadata of an owner as the policy of that name has to.
func readLedger(policy string, owner *unstructured.Unstructured) ledger {
	l := ledger{text: text(field(owner.Object, "metadata", "annotations", v1alpha1.AnnotationChildren))}
	finalizers, _ := field(owner.Object, "metadata", "finalizers").([]any)
	l.finalizer = slices.Contains(finalizers, any(v1alpha1.FinalizerCleanup))
	l.old, l.err = ParseInventory(l.text)
	if l.err == nil && l.old.Policy != "" && l.old.Policy != policy {
		return ledger{foreign: l.old.Policy}
	}
	return l
}

// IsMarked says whether there is a record of children or the finalizer on an owner
// that are, or may be, of the policy of that name: of a finalizer without a record, or
// with one that cannot be read, nobody knows whose it is.
func IsMarked(policy string, owner *unstructured.Unstructured) bool {
	l := readLedger(policy, owner)
	return l.isMarked()
}

// isMarked says whether there is a record or the finalizer, if not another policy's.
func (l *ledger) isMarked() bool { return l.finalizer || l.text != "" }

// problem is that of a record that cannot be read.
func (l *ledger) problem() *Problem {
	return &Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true, Message: fmt.Sprintf(
		"%v: nothing is deleted before the annotation %s is as Ambit has written it, or is removed", l.err, v1alpha1.AnnotationChildren)}
}

// entry finds an object in the inventory as it is.
func (l *ledger) entry(key ObjectKey) (Entry, bool) {
	if len(l.old.Entries) == 0 {
		return Entry{}, false
	}
	if l.index == nil {
		l.index = make(map[ObjectKey]int, len(l.old.Entries))
		for i, e := range l.old.Entries {
			if !e.isPlace() {
				l.index[e.ObjectKey()] = i
			}
		}
	}
	i, ok := l.index[key]
	if !ok {
		return Entry{}, false
	}
	return l.old.Entries[i], true
}

// hasPlace says whether the inventory says to look for a child in a namespace.
func (l *ledger) hasPlace(wanted place) bool {
	if l.places == nil {
		l.places = map[place]bool{}
		for _, e := range l.old.Entries {
			if e.isPlace() {
				l.places[e.place()] = true
			}
		}
	}
	return l.places[wanted]
}

// place is what a place entry stands for.
type place struct {
	child, namespace string
	kind             schema.GroupKind
}

func (e Entry) place() place {
	return place{child: e.Child, namespace: e.Namespace, kind: e.GVK.GroupKind()}
}

// ObjectKey names the object of the entry; of a place it has no name.
func (e Entry) ObjectKey() ObjectKey {
	return ObjectKey{Kind: e.GVK.GroupKind(), Namespace: e.Namespace, Name: e.Name}
}

// needsFinalizer says whether the owner must not go before the entry's object.
func (e Entry) needsFinalizer() bool { return !e.isPlace() && !e.Orphan }

// finalizes says whether each owner of the program has the finalizer.
func finalizes(program *policy.Program) bool {
	return program.Protect != nil || program.Deletion == v1alpha1.DeletionOrdered
}
