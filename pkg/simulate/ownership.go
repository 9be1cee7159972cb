package simulate

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

// record is the owner's inventory while observed objects that do not say whose they are
// become the owner's.
type record struct {
	program   *policy.Program
	owner     *unstructured.Unstructured
	inventory inventory.Inventory
	// isGiven: the owner came with an inventory, and nothing is added to it.
	isGiven bool
}

func newRecord(program *policy.Program, owner *unstructured.Unstructured) *record {
	r := &record{program: program, owner: owner}
	text := owner.GetAnnotations()[v1alpha1.AnnotationChildren]
	r.isGiven = text != ""
	if given, err := inventory.ParseInventory(text); err == nil {
		r.inventory = given // what cannot be read is for the planner to say
	}
	r.inventory.Owner = owner.GetUID()
	if !r.isGiven {
		r.inventory.Policy, r.inventory.TokenSecret = program.Label, placeholderClaim
	}
	return r
}

// completeObject gives the object a uid by its number, and makes it the owner's if it counts as
// made by Ambit.
func (r *record) completeObject(object *unstructured.Unstructured, number int) {
	if object.GetUID() != "" {
		return
	}
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0001-%012d", number)))
	rank := slices.IndexFunc(r.program.Children, func(c *policy.Child) bool {
		return c.GVK == object.GroupVersionKind() && c.Existing != v1alpha1.ExistingMerge
	})
	if rank < 0 || len(object.GetOwnerReferences()) > 0 {
		return
	}
	child := r.program.Children[rank]
	r.addLabels(object, child)
	entry := inventory.Entry{
		Child: child.ID, GVK: child.GVK, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		Orphan: child.OnDelete == v1alpha1.DeleteOrphan, Rank: rank,
	}
	if !entry.Orphan && r.mayRefer(object) {
		object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(r.owner, r.owner.GroupVersionKind())})
		if object.GetNamespace() != r.owner.GetNamespace() {
			r.addEntry(inventory.Entry{Child: child.ID, GVK: child.GVK, Namespace: object.GetNamespace(), Rank: rank})
		}
		return
	}
	if uid := r.recordedUID(object); uid != "" {
		object.SetUID(uid)
	}
	setAnnotation(object, v1alpha1.AnnotationClaim, r.inventory.TokenOf(entry))
	r.addEntry(entry)
}

// addLabels gives the object the labels of every child, and the id of its child where it
// carries that.
func (r *record) addLabels(object *unstructured.Unstructured, child *policy.Child) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	labels[v1alpha1.LabelPolicy] = r.program.Label
	labels[v1alpha1.LabelOwnerUID] = string(r.owner.GetUID())
	object.SetLabels(labels)
	if r.program.NamesChild(child) {
		setAnnotation(object, v1alpha1.AnnotationChild, child.ID)
	}
}

// mayRefer reports whether an ownerReference can lead from the object to the owner.
func (r *record) mayRefer(object *unstructured.Unstructured) bool {
	return r.owner.GetNamespace() == "" || r.owner.GetNamespace() == object.GetNamespace()
}

// recordedUID returns the uid that the inventory has of the object; "" for none.
func (r *record) recordedUID(object *unstructured.Unstructured) types.UID {
	for _, e := range r.inventory.Entries {
		if e.GVK == object.GroupVersionKind() && e.Namespace == object.GetNamespace() && e.Name == object.GetName() {
			return e.UID
		}
	}
	return ""
}

// addEntry adds an entry to the inventory, once.
func (r *record) addEntry(entry inventory.Entry) {
	isSame := func(e inventory.Entry) bool {
		return e.Child == entry.Child && e.GVK == entry.GVK && e.Namespace == entry.Namespace && e.Name == entry.Name
	}
	if !r.isGiven && !slices.ContainsFunc(r.inventory.Entries, isSame) {
		r.inventory.Entries = append(r.inventory.Entries, entry)
	}
}

// writeOwner returns the owner with the inventory, and with the finalizer where objects would be
// left behind without it; beside the finalizer there is always an inventory.
func (r *record) writeOwner() *unstructured.Unstructured {
	isHeld := slices.Contains(r.owner.GetFinalizers(), v1alpha1.FinalizerCleanup)
	if r.isGiven || len(r.inventory.Entries) == 0 && !isHeld {
		return r.owner
	}
	isLeft := func(e inventory.Entry) bool { return !e.Orphan }
	finalizer := isHeld || slices.ContainsFunc(r.inventory.Entries, isLeft)
	return withMetadata(r.owner, plan.OwnerMetadata{Finalizer: finalizer, Children: r.inventory.String()})
}
