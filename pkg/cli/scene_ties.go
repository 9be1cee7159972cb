package cli

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// ties make observed objects that do not say whose they are those of the owner.
type ties struct {
	*scene
	// inventory is the owner's record; given: its file has it, and nothing is added.
	inventory inventory.Inventory
	given     bool
}

func newTies(s *scene) *ties {
	t := &ties{scene: s}
	text := s.owner.GetAnnotations()[v1alpha1.AnnotationChildren]
	t.given = text != ""
	if record, err := inventory.Parse(text); err == nil {
		t.inventory = record // what cannot be read is for the planner to say
	}
	t.inventory.Owner = s.owner.GetUID()
	if !t.given {
		t.inventory.Policy, t.inventory.TokenSecret = s.program.Name, placeholderClaim
	}
	return t
}

// complete gives the object a uid by its number, and ties it to the owner if it
// counts as made by Ambit.
func (t *ties) complete(object *unstructured.Unstructured, number int) {
	if object.GetUID() != "" {
		return
	}
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0001-%012d", number)))
	rank := slices.IndexFunc(t.program.Children, func(c *policy.Child) bool {
		return c.GVK == object.GroupVersionKind() && c.Existing != v1alpha1.ExistingMerge
	})
	if rank < 0 || len(object.GetOwnerReferences()) > 0 {
		return
	}
	child := t.program.Children[rank]
	t.sign(object, child)
	entry := inventory.Entry{
		Child: child.ID, GVK: child.GVK, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		Orphan: child.OnDelete == v1alpha1.DeleteOrphan, Rank: rank,
	}
	if !entry.Orphan && t.canRefer(object) {
		owner := metav1.NewControllerRef(t.owner, t.owner.GroupVersionKind())
		object.SetOwnerReferences([]metav1.OwnerReference{*owner})
		if object.GetNamespace() != t.owner.GetNamespace() {
			t.add(inventory.Entry{Child: child.ID, GVK: child.GVK, Namespace: object.GetNamespace(), Rank: rank})
		}
		return
	}
	if known := t.known(object); known != "" {
		object.SetUID(known)
	}
	annotate(object, v1alpha1.AnnotationClaim, t.inventory.TokenOf(entry))
	t.add(entry)
}

// sign gives the object the labels of every child, and what it is known by where
// some without an element are kept.
func (t *ties) sign(object *unstructured.Unstructured, child *policy.Child) {
	set := object.GetLabels()
	if set == nil {
		set = map[string]string{}
	}
	for key, value := range t.byLabels() {
		set[key] = value
	}
	object.SetLabels(set)
	if child.Keep > 0 {
		annotate(object, v1alpha1.AnnotationChild, child.ID)
	}
}

// canRefer says whether an ownerReference can lead from the object to the owner.
func (t *ties) canRefer(object *unstructured.Unstructured) bool {
	return t.owner.GetNamespace() == "" || t.owner.GetNamespace() == object.GetNamespace()
}

// known returns the uid that the record has of the object; "" for none.
func (t *ties) known(object *unstructured.Unstructured) types.UID {
	for _, e := range t.inventory.Entries {
		if e.GVK == object.GroupVersionKind() && e.Namespace == object.GetNamespace() && e.Name == object.GetName() {
			return e.UID
		}
	}
	return ""
}

// add adds an entry to the record, once.
func (t *ties) add(entry inventory.Entry) {
	same := func(e inventory.Entry) bool {
		return e.Child == entry.Child && e.GVK == entry.GVK && e.Namespace == entry.Namespace && e.Name == entry.Name
	}
	if !t.given && !slices.ContainsFunc(t.inventory.Entries, same) {
		t.inventory.Entries = append(t.inventory.Entries, entry)
	}
}

// record writes the record to the owner, with the finalizer where objects would be
// left behind without it; beside the finalizer there is always a record.
func (t *ties) record() {
	held := slices.Contains(t.owner.GetFinalizers(), v1alpha1.FinalizerCleanup)
	if t.given || len(t.inventory.Entries) == 0 && !held {
		return
	}
	left := func(e inventory.Entry) bool { return !e.Orphan }
	finalizer := held || slices.ContainsFunc(t.inventory.Entries, left)
	t.owner = marked(t.owner, plan.OwnerMetadata{Finalizer: finalizer, Children: t.inventory.String()})
	t.scene.owner = t.owner
}
