package sim

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate is what is wrong with an object; before is nil for a new one. What is as before was
// looked at when it was stored.
func (c *call) validate(obj, before *unstructured.Unstructured) field.ErrorList {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	shown, old, name := obj, before, nameRule(c.served.gvk.Kind)
	if before != nil && !c.resource.redefined {
		shown, old = withoutUnchanged(obj, before)
		if obj.GetName() == before.GetName() {
			name = anyName
		}
	}
	metadata := metaOf(shown)
	errs = apivalidation.ValidateObjectMeta(metadata, c.resource.namespaced, name, path)
	if before != nil {
		changed := apivalidation.ValidateObjectMetaUpdate(metadata, metaOf(old), path)
		errs = append(errs, changed...)
		if c.resource.definition == "" {
			errs = append(errs, changed...) // built-in kinds check it once more
		}
	}
	if c.resource.definition == "" && c.served.gvk.Kind != definitionKind {
		errs = append(errs, validateFinalizers(metadata.Finalizers, path.Child("finalizers"))...)
	}
	if before != nil && !c.resource.redefined {
		if isEqualBut(obj.Object, before.Object, "metadata") {
			return errs
		}
		if c.Subresource == "status" && c.resource.definition != "" {
			obj, before = only(obj, "status"), only(before, "status")
		}
	}
	return append(errs, c.served.decoder.validate(obj, before, c.Subresource == "status")...)
}

// withoutUnchanged leaves out of the metadata of two objects the maps and lists that are alike.
func withoutUnchanged(a, b *unstructured.Unstructured) (fromA, fromB *unstructured.Unstructured) {
	ofA, ofB := maps.Clone(metadataOf(a)), maps.Clone(metadataOf(b))
	for _, name := range []string{"labels", "annotations", "ownerReferences", "finalizers"} {
		if isEqual(ofA[name], ofB[name]) {
			delete(ofA, name)
			delete(ofB, name)
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": ofA}}, &unstructured.Unstructured{Object: map[string]any{"metadata": ofB}}
}

// only is one field of an object.
func only(obj *unstructured.Unstructured, field string) *unstructured.Unstructured {
	value, ok := obj.Object[field]
	one := map[string]any{}
	set(one, field, value, ok)
	return &unstructured.Unstructured{Object: one}
}

// anyName is a rule that allows all names.
func anyName(string, bool) []string { return nil }

// validateFinalizers: those of built-in kinds are Kubernetes' own or have a domain.
func validateFinalizers(names []string, path *field.Path) (errs field.ErrorList) {
	for i, name := range names {
		switch name {
		case metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes):
			continue
		}
		if !strings.Contains(name, "/") {
			errs = append(errs, field.Invalid(path.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// metaOf reads the metadata that is validated; managedFields are our own.
func metaOf(obj *unstructured.Unstructured) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{
		Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		CreationTimestamp: obj.GetCreationTimestamp(), DeletionTimestamp: obj.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(),
		Labels:                     obj.GetLabels(), Annotations: obj.GetAnnotations(),
		OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(),
	}
}

// nameRule is what a kind allows for names.
func nameRule(kind string) apivalidation.ValidateNameFunc {
	switch kind {
	case "Namespace":
		return apivalidation.NameIsDNSLabel
	case "Service":
		return apivalidation.NameIsDNS1035Label
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return anyName
	}
	return apivalidation.NameIsDNSSubdomain
}

// validateBuiltin checks what Ambit's policies may get wrong in built-in kinds.
func validateBuiltin(obj, before *unstructured.Unstructured) field.ErrorList {
	switch obj.GetKind() {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		return validateWorkload(obj, before)
	case "RoleBinding", "ClusterRoleBinding":
		return validateBinding(obj, before)
	case "ConfigMap":
		return validateConfigMap(obj, before)
	case "Service":
		return validateService(obj)
	}
	return nil
}

func validateConfigMap(obj, before *unstructured.Unstructured) field.ErrorList {
	if before == nil || before.Object["immutable"] != true {
		return nil
	}
	const message = "field is immutable when `immutable` is set"
	var errs field.ErrorList
	if obj.Object["immutable"] != true {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), message))
	}
	for _, name := range []string{"data", "binaryData"} {
		was, _ := before.Object[name].(map[string]any)
		is, _ := obj.Object[name].(map[string]any)
		if !isEqualBut(was, is) {
			errs = append(errs, field.Forbidden(field.NewPath(name), message))
		}
	}
	return errs
}

// validateService: no two ports have one name.
func validateService(obj *unstructured.Unstructured) (errs field.ErrorList) {
	ports, _, _ := unstructured.NestedSlice(obj.Object, "spec", "ports")
	seen := map[any]bool{}
	for i, p := range ports {
		port, _ := p.(map[string]any)
		if name := port["name"]; name != nil && seen[name] {
			errs = append(errs, field.Duplicate(field.NewPath("spec", "ports").Index(i).Child("name"), name))
		}
		seen[port["name"]] = true
	}
	return errs
}

func validateBinding(obj, before *unstructured.Unstructured) field.ErrorList {
	if before == nil {
		return nil
	}
	was, _ := before.Object["roleRef"].(map[string]any)
	is, _ := obj.Object["roleRef"].(map[string]any)
	if isEqualBut(was, is) {
		return nil
	}
	var ref struct{ APIGroup, Kind, Name string }
	ref.APIGroup, _ = is["apiGroup"].(string)
	ref.Kind, _ = is["kind"].(string)
	ref.Name, _ = is["name"].(string)
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), ref, "cannot change roleRef")}
}

// validateWorkload: the selector chooses the template's labels, and never changes.
func validateWorkload(obj, before *unstructured.Unstructured) field.ErrorList {
	path := field.NewPath("spec")
	selector, _, _ := unstructured.NestedMap(obj.Object, "spec", "selector")
	chosen, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "selector", "matchLabels")
	labels, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "template", "metadata", "labels")
	var errs field.ErrorList
	for key, value := range chosen {
		if labels[key] != value {
			errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), labels, "`selector` does not match template `labels`"))
			break
		}
	}
	if before == nil {
		return errs
	}
	was, _, _ := unstructured.NestedMap(before.Object, "spec", "selector")
	if !isEqualBut(was, selector) {
		var typed metav1.LabelSelector
		typed.MatchLabels = chosen
		errs = append(errs, field.Invalid(path.Child("selector"), typed, "field is immutable"))
	}
	return errs
}
