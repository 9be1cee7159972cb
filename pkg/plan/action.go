package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/madevalues"
)

// Verb is what an action does.
type Verb string

// The verbs of actions.
const (
	// Create makes an object that does not exist.
	Create Verb = "Create"
	// Apply changes an object that is ours to what the policy wants, by server-side
	// apply with force, or by a merge patch where that does the same.
	Apply Verb = "Apply"
	// Delete removes an object that is ours, in the background.
	Delete Verb = "Delete"
	// MakeValues makes values of a Secret that is ours and has them not, or not as they should be. Whoever carries
	// it out reads the Secret and writes nothing if they are valid.
	MakeValues Verb = "Make"
	// Merge sets the fields of Object in an object that is not ours: server-side apply
	// without force, as Manager, with UID in the body, so that it never makes one.
	Merge Verb = "Merge"
	// Release takes back what Merge has set: server-side apply of an object without
	// fields, as Manager, with UID in the body.
	Release Verb = "Release"
)

// Action is one write on one object.
type Action struct {
	Verb Verb
	// Child is the id of the child that the object is for, or empty for the
	// deletion or release of an object that no child wants.
	Child     string
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
	// UID and ResourceVersion are those of the observed object; empty for Create.
	UID             types.UID
	ResourceVersion string
	// Object is the desired object, as ChildState.Desired; nil for Delete, Release and MakeValues.
	Object *unstructured.Unstructured
	// Make, for Create and MakeValues, are the values to be made; for other actions those to be left alone. Nil: none.
	Make *madevalues.Request
	// Adopt, for Create: an object of that name that exists, and that has no
	// controller and belongs to no other policy or owner, may be taken over.
	Adopt bool
	// AsItIs, with Adopt: what is taken over gets the labels, annotations and ownerReference
	// that tie it to its owner, and nothing else of Object (apply Create).
	AsItIs bool
	// Manager is the field manager of Merge and Release; empty: the policy's.
	Manager string
	// Claim is the value of the annotation ambit.dev/claim that proves that an object
	// is the owner's where no ownerReference can; empty where one does.
	Claim string
	// OlderClaims, for Create, are claims that prove it as well: another revision of the
	// policy may have written the object.
	OlderClaims []string
	// Ensured: the object belongs to the policy itself; its annotation
	// ambit.dev/ensured-by proves it, together with fields of the policy's manager.
	Ensured bool
	// Migrate is true if the difference is a field that has to be removed and that
	// our entry of operation Update holds: that entry has to become one of
	// operation Apply before a server-side apply can remove the field.
	Migrate bool
	// Changes, for Apply, is a merge patch that is as good as applying Object: all that differs are
	// single values of fields that are ours. It costs the API server less. Nil: it takes an apply.
	Changes map[string]any
	// Recreates: the object is never changed, but deleted and made anew where it differs
	// (apply Recreate).
	Recreates bool
	// Reason says why, as in `spec.replicas is another number`.
	Reason string
	// Wanted stands for the desired object: equal texts, equal objects. It is there also for a
	// Delete that makes the object anew; empty for the deletion or release of an object that no
	// child wants.
	Wanted string
	// Fields are the paths in which the live object is not as desired, as in `spec.replicas`;
	// nil if it is not there, or no child wants it.
	Fields []string
	// Digest stands for the difference, for Snapshot.ServerNormalized; empty for Create, Release,
	// and a Delete for another reason.
	Digest string
}

// Key names the object that the action is about, and for which child: the same in
// all plans. It is as in `web default/sample`, or `Deployment/default/sample` if
// no child wants the object; without the namespace for kinds that have none.
func (a Action) Key() string {
	name := a.Name
	if a.Namespace != "" {
		name = a.Namespace + "/" + name
	}
	if a.Child != "" {
		return a.Child + " " + name
	}
	return leftoverKey(a.GVK.Kind, name)
}

// ObjectKey names the object that the action is about.
func (a Action) ObjectKey() inventory.ObjectKey {
	return inventory.ObjectKey{Kind: a.GVK.GroupKind(), Namespace: a.Namespace, Name: a.Name}
}

// leftoverKey is the key of the deletion or release of an object that no child wants;
// name is as in `default/sample`.
func leftoverKey(kind, name string) string { return kind + "/" + name }
