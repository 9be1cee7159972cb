package uninstall

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// The types of findings about an object.
const (
	// TypeFinalizer: the object carries v1alpha1.FinalizerCleanup.
	TypeFinalizer = "Finalizer"
	// TypeRecord: the object has a record of children, and no finalizer.
	TypeRecord = "Record"
	// TypeChild: Ambit has made the object, and no ownerReference ties it to its owner.
	TypeChild = "Child"
	// TypeFields: a policy has merged fields into the object of somebody else.
	TypeFields = "Fields"
	// TypeEnsured: the object was made for a policy itself.
	TypeEnsured = "Ensured"
	// typeOwned: garbage collection takes the object when its owner goes.
	typeOwned = "Owned"
)

// Finding is something that is left, or what keeps something from being removed. It is
// comparable. Its JSON is what `ambit leftovers -o json` prints, and is stable.
type Finding struct {
	// Type is one of the constants; empty if no object was found.
	Type string `json:"finding"`
	// Policy is the policy, as v1alpha1.PolicyLabel names it; empty if the object does not say it.
	Policy string `json:"policy"`
	// APIVersion, Kind, Namespace and Name are of the object; empty if the finding is
	// about the policy as a whole. Namespace is empty for kinds without.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Why says what would be if Ambit were gone, or what keeps it from being removed.
	Why string `json:"why"`

	// Deleting reports whether the object is being deleted.
	Deleting bool `json:"-"`
}

// String is as in `policy "web": App team-a/shop: Protected: ...`.
func (f Finding) String() string {
	if f.Kind == "" {
		return fmt.Sprintf("policy %q: %s", f.Policy, f.Why)
	}
	return fmt.Sprintf("policy %q: %s: %s", f.Policy, objectText(f.Kind, f.Namespace, f.Name), f.Why)
}

// isMark reports whether it is about what an owner carries.
func (f Finding) isMark() bool { return f.Type == TypeFinalizer || f.Type == TypeRecord }

// isMade reports whether it is about an object that a policy has made.
func (f Finding) isMade() bool {
	return f.Type == TypeChild || f.Type == TypeEnsured || f.Type == typeOwned
}

// isSameObject reports whether both are about one object of one policy.
func (f Finding) isSameObject(other Finding) bool {
	return f.Kind != "" && f.Policy == other.Policy && f.Kind == other.Kind && f.Namespace == other.Namespace && f.Name == other.Name
}

// findingsOf returns what the metadata of an object says: on an owner one finding, and
// one for each policy that has made it or merged into it.
func findingsOf(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) []Finding {
	var found []Finding
	note := func(typ, policy, why string) {
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		found = append(found, Finding{
			Type: typ, Policy: policy, APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace, Name: object.Name, Why: why,
			Deleting: object.DeletionTimestamp != nil,
		})
	}
	if hasFinalizer(object) {
		policy, recorded := recordOf(gvk, object)
		note(TypeFinalizer, policy, whyStuck(object)+recorded)
	} else if hasRecord(object) {
		policy, recorded := recordOf(gvk, object)
		note(TypeRecord, policy, "its annotation "+v1alpha1.AnnotationChildren+" would stay"+recorded)
	}
	if policy := ensuringPolicy(object); policy != "" {
		note(TypeEnsured, policy, "it was made for the policy itself, and would stay")
	} else if policy, owned := makingPolicy(object); owned {
		note(typeOwned, policy, "garbage collection takes it when its owner is deleted")
	} else if policy != "" {
		note(TypeChild, policy, "no ownerReference ties it to its owner: it would stay")
	}
	for _, policy := range mergingPolicies(object) {
		note(TypeFields, policy, "it would keep the fields that the policy has merged into it")
	}
	return found
}

func hasFinalizer(object *metav1.PartialObjectMetadata) bool {
	return slices.Contains(object.Finalizers, v1alpha1.FinalizerCleanup)
}

func hasRecord(object *metav1.PartialObjectMetadata) bool {
	return object.Annotations[v1alpha1.AnnotationChildren] != ""
}

// whyStuck says what the finalizer holds up.
func whyStuck(object *metav1.PartialObjectMetadata) string {
	if object.DeletionTimestamp != nil {
		return "it is being deleted, and stays until Ambit takes its finalizer " + v1alpha1.FinalizerCleanup + " off"
	}
	return "it could not be deleted: only Ambit takes its finalizer " + v1alpha1.FinalizerCleanup + " off"
}

// whyRemains says why an object that a cleanup removes is still there.
func whyRemains(object *metav1.PartialObjectMetadata) string {
	if object.DeletionTimestamp == nil {
		return "it is still there"
	}
	return "it is being deleted, and waits for its finalizers: " + strings.Join(object.Finalizers, ", ")
}

// whyMarked names what a cleanup has not yet taken off an owner.
func whyMarked(owner *metav1.PartialObjectMetadata) string {
	var marks []string
	if hasFinalizer(owner) {
		marks = append(marks, "finalizer "+v1alpha1.FinalizerCleanup)
	}
	if hasRecord(owner) {
		marks = append(marks, "annotation "+v1alpha1.AnnotationChildren)
	}
	return "it still has " + strings.Join(marks, ", ")
}

// recordOf returns the policy that the finalizer and the record of an object are of, ""
// if they do not say it, and a clause on what is on record there.
func recordOf(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) (policy, recorded string) {
	if gvk.Group == v1alpha1.Group {
		return v1alpha1.PolicyLabel(object.Namespace, object.Name), ""
	}
	stored, err := inventory.ParseInventory(object.Annotations[v1alpha1.AnnotationChildren])
	if err != nil {
		return "", "; its record cannot be read"
	}
	made, merged := 0, 0
	for _, entry := range stored.Entries {
		switch {
		case entry.Merged:
			merged++
		case entry.Name != "":
			made++
		}
	}
	if made+merged == 0 {
		return stored.Policy, ""
	}
	objects := "objects"
	if made == 1 {
		objects = "object"
	}
	return stored.Policy, fmt.Sprintf("; on record: %d %s made, %d merged into", made, objects, merged)
}

// makingPolicy returns the policy that has made an object for an owner, "" if none has,
// and whether its owner controls it.
func makingPolicy(object *metav1.PartialObjectMetadata) (policy string, owned bool) {
	policy = object.Labels[v1alpha1.LabelPolicy]
	if policy == "" || object.Labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy {
		return "", false
	}
	controller := metav1.GetControllerOfNoCopy(object)
	if controller != nil && string(controller.UID) == object.Labels[v1alpha1.LabelOwnerUID] {
		return policy, true
	}
	claimed := controller == nil && object.Annotations[v1alpha1.AnnotationClaim] != ""
	if claimed || isManagedBy(object, v1alpha1.FieldManager(policy)) {
		return policy, false
	}
	return "", false
}

// ensuringPolicy returns the policy that ensures an object, "" if none does.
func ensuringPolicy(object *metav1.PartialObjectMetadata) string {
	policy := labelOf(object.Annotations[v1alpha1.AnnotationEnsuredBy])
	if policy != "" && isManagedBy(object, v1alpha1.FieldManager(policy)) {
		return policy
	}
	return ""
}

// mergingPolicies returns the policies that have merged fields into an object, sorted.
func mergingPolicies(object *metav1.PartialObjectMetadata) []string {
	var policies []string
	for _, entry := range object.ManagedFields {
		rest, ours := strings.CutPrefix(entry.Manager, v1alpha1.FieldManager(""))
		if policy, owner, perOwner := strings.Cut(rest, "/"); ours && perOwner && owner != "" {
			policies = append(policies, policy)
		}
	}
	slices.Sort(policies)
	return slices.Compact(policies)
}

func isManagedBy(object *metav1.PartialObjectMetadata, manager string) bool {
	return slices.ContainsFunc(object.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
}

// labelOf returns the PolicyLabel of `namespace/name`, or of a name alone.
func labelOf(id string) string {
	namespace, name, ok := strings.Cut(id, "/")
	if !ok {
		namespace, name = "", id
	}
	return v1alpha1.PolicyLabel(namespace, name)
}

// objectText is as in `App team-a/shop`.
func objectText(kind, namespace, name string) string {
	return kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}
