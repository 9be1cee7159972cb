package inventory

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// maxOtherKinds is how many kinds an inventory may have that the program does not have: an
// earlier revision of the policy had them. An inventory with more is not believed.
const maxOtherKinds = 64

// Stored is what the metadata of an owner says of its children, as one policy has to read it.
type Stored struct {
	// Inventory is what Text says, with the owner's uid. It is empty if Err is set.
	Inventory
	// Text is the value of the annotation ambit.dev/children; empty for none.
	Text string
	// Err says why Text cannot be read, or is not believed; nil if it is.
	Err error
	// HasFinalizer: ambit.dev/cleanup stands on the owner.
	HasFinalizer bool
	// OtherPolicy is the policy whose inventory and finalizer these are, if it is another
	// one; all else is then as if there were none.
	OtherPolicy string
}

// ReadStored reads the metadata of an owner as a program has to. The kinds of the entries are brought
// to one version each: the program's, if it has the kind. owner is not changed.
func ReadStored(program *policy.Program, owner *unstructured.Unstructured) Stored {
	stored := readAsPolicy(program.Label, owner)
	if stored.Err == nil {
		stored.Err = stored.unifyKinds(program)
	}
	if stored.Err != nil {
		stored.Inventory = Inventory{}
	}
	stored.Owner = owner.GetUID()
	return stored
}

// readAsPolicy reads the metadata of an owner as the policy of that label has to.
func readAsPolicy(policy string, owner *unstructured.Unstructured) Stored {
	stored := Stored{}
	stored.Text, _, _ = unstructured.NestedString(owner.Object, "metadata", "annotations", v1alpha1.AnnotationChildren)
	finalizers, _, _ := unstructured.NestedFieldNoCopy(owner.Object, "metadata", "finalizers")
	list, _ := finalizers.([]any)
	stored.HasFinalizer = slices.Contains(list, any(v1alpha1.FinalizerCleanup))
	stored.Inventory, stored.Err = ParseInventory(stored.Text)
	if stored.Err == nil && stored.Policy != "" && stored.Policy != policy {
		return Stored{OtherPolicy: stored.Policy}
	}
	return stored
}

// IsMarked reports whether there is an inventory or the finalizer on an owner that are, or may
// be, of the policy of that label: of a finalizer without an inventory, or with one that cannot
// be read, nobody knows whose it is.
func IsMarked(policy string, owner *unstructured.Unstructured) bool {
	return readAsPolicy(policy, owner).IsMarked()
}

// IsMarked reports whether there is an inventory or the finalizer, if not another policy's.
func (s Stored) IsMarked() bool { return s.HasFinalizer || s.Text != "" }

// unifyKinds brings the kinds of entries to one version each: the program's, if it has the
// kind. It returns why the program, or an earlier revision of it, cannot have written the
// inventory; nil if it can.
func (inv *Inventory) unifyKinds(program *policy.Program) error {
	versions := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, c := range program.Children {
		versions[c.GVK.GroupKind()] = c.GVK
	}
	known := len(versions)
	for i := range inv.Entries {
		e := &inv.Entries[i]
		kind := e.GVK.GroupKind()
		if _, ok := versions[kind]; !ok {
			versions[kind] = e.GVK
		}
		e.GVK = versions[kind]
	}
	if others := len(versions) - known; others > maxOtherKinds {
		return fmt.Errorf("reading the record of children: it has %d kinds that this policy does not have; Ambit writes at most %d", others, maxOtherKinds)
	}
	return nil
}
