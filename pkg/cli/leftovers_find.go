package cli

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// What is found of an object.
const (
	foundFinalizer = "Finalizer"
	foundRecord    = "Record"
	foundChild     = "Child"
	foundFields    = "Fields"
	foundEnsured   = "Ensured"
)

// needing is an object that needs Ambit, as `ambit leftovers -o json` prints it. The
// shape is stable.
type needing struct {
	// Finding is one of the constants above.
	Finding string `json:"finding"`
	// Policy is the name of the policy; empty if the object does not say it.
	Policy string `json:"policy"`
	// APIVersion, Kind, Namespace and Name are of the object. Namespace is empty for
	// kinds without.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Why says what would be if Ambit were gone.
	Why string `json:"why"`

	deleting bool // it is being deleted
}

// needsOf are the findings about one object. It reads nothing but metadata.
func needsOf(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) []needing {
	var found []needing
	note := func(finding, policy, why string) {
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		found = append(found, needing{
			Finding: finding, Policy: policy, APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace, Name: object.Name, Why: why,
			deleting: object.DeletionTimestamp != nil,
		})
	}
	if slices.Contains(object.Finalizers, v1alpha1.FinalizerCleanup) {
		policy, what := recorded(gvk, object)
		note(foundFinalizer, policy, stuck(object)+what)
	} else if object.Annotations[v1alpha1.AnnotationChildren] != "" {
		policy, what := recorded(gvk, object)
		note(foundRecord, policy, "its annotation "+v1alpha1.AnnotationChildren+" would stay"+what)
	}
	if policy := ensuredFor(object); policy != "" {
		note(foundEnsured, policy, "it was made for the policy itself, and would stay")
	} else if policy := untied(object); policy != "" {
		note(foundChild, policy, "no ownerReference ties it to its owner: it would stay")
	}
	for _, policy := range mergedBy(object) {
		note(foundFields, policy, "it would keep the fields that the policy has merged into it")
	}
	return found
}

// stuck says what the finalizer holds up.
func stuck(object *metav1.PartialObjectMetadata) string {
	if object.DeletionTimestamp != nil {
		return "it is being deleted, and stays until Ambit takes its finalizer " + v1alpha1.FinalizerCleanup + " off"
	}
	return "it could not be deleted: only Ambit takes its finalizer " + v1alpha1.FinalizerCleanup + " off"
}

// recorded returns the policy that a mark on an object is of, "" if it does not say,
// and what is on record there.
func recorded(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) (policy, what string) {
	if gvk.Group == v1alpha1.Group {
		return object.Name, ""
	}
	record, err := inventory.Parse(object.Annotations[v1alpha1.AnnotationChildren])
	if err != nil {
		return "", "; its record cannot be read"
	}
	made, lent := 0, 0
	for _, entry := range record.Entries {
		switch {
		case entry.Merged:
			lent++
		case entry.Name != "":
			made++
		}
	}
	if made+lent == 0 {
		return record.Policy, ""
	}
	return record.Policy, fmt.Sprintf("; on record: %s made, %d merged into", plural(made, "object"), lent)
}

// untied returns the policy that has made an object which no ownerReference ties to
// its owner, "" if it is none. Labels alone prove nothing: other controllers copy them.
func untied(object *metav1.PartialObjectMetadata) string {
	policy := object.Labels[v1alpha1.LabelPolicy]
	if policy == "" || object.Labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy {
		return ""
	}
	controller := metav1.GetControllerOfNoCopy(object)
	if controller != nil && string(controller.UID) == object.Labels[v1alpha1.LabelOwnerUID] {
		return ""
	}
	claimed := controller == nil && object.Annotations[v1alpha1.AnnotationClaim] != ""
	if claimed || isManagedBy(object, v1alpha1.FieldManager(policy)) {
		return policy
	}
	return ""
}

// ensuredFor returns the name of the policy that ensures an object; "" if none does.
func ensuredFor(object *metav1.PartialObjectMetadata) string {
	by := object.Annotations[v1alpha1.AnnotationEnsuredBy]
	if policy := nameIn(by); by != "" && isManagedBy(object, v1alpha1.FieldManager(policy)) {
		return policy
	}
	return ""
}

// mergedBy returns the policies that have merged fields into an object, sorted.
func mergedBy(object *metav1.PartialObjectMetadata) []string {
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
