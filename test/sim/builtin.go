package sim

import (
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setDefaults fills in what the API server does for built-in kinds, where Ambit's
// policies come across it. obj has gone through its Go type.
func setDefaults(kind string, obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	switch kind {
	case "Namespace":
		defaultNamespace(obj)
	case "Secret":
		fill(obj, "type", "Opaque")
		encodeSecret(obj)
	case "Deployment":
		defaultDeployment(spec)
	case "Pod":
		defaultPod(spec)
	case "RoleBinding", "ClusterRoleBinding":
		defaultBinding(obj)
	}
}

// fill sets what is not there.
func fill(into map[string]any, key string, value any) {
	if into == nil {
		return
	}
	if now, ok := into[key]; !ok || now == nil || now == "" {
		into[key] = value
	}
}

// inner is the map of a key, made if there is none.
func inner(of map[string]any, key string) map[string]any {
	if of == nil {
		return nil
	}
	found, ok := of[key].(map[string]any)
	if !ok {
		found = map[string]any{}
		of[key] = found
	}
	return found
}

// defaultNamespace sets the label with the namespace's name.
func defaultNamespace(obj map[string]any) {
	metadata := inner(obj, "metadata")
	if name, _ := metadata["name"].(string); name != "" {
		inner(metadata, "labels")["kubernetes.io/metadata.name"] = name
	}
}

// encodeSecret moves the texts of a Secret into its data.
func encodeSecret(obj map[string]any) {
	texts, _ := obj["stringData"].(map[string]any)
	for key, text := range texts {
		inner(obj, "data")[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(text)))
	}
	delete(obj, "stringData")
}

func defaultBinding(obj map[string]any) {
	fill(inner(obj, "roleRef"), "apiGroup", rbacGroup)
	subjects, _ := obj["subjects"].([]any)
	for _, s := range subjects {
		if subject, ok := s.(map[string]any); ok && subject["kind"] != "ServiceAccount" {
			fill(subject, "apiGroup", rbacGroup)
		}
	}
}

func defaultDeployment(spec map[string]any) {
	fill(spec, "replicas", int64(1))
	fill(spec, "revisionHistoryLimit", int64(10))
	fill(spec, "progressDeadlineSeconds", int64(600))
	strategy := inner(spec, "strategy")
	fill(strategy, "type", "RollingUpdate")
	if strategy["type"] == "RollingUpdate" {
		rolling := inner(strategy, "rollingUpdate")
		fill(rolling, "maxUnavailable", "25%")
		fill(rolling, "maxSurge", "25%")
	}
	defaultPod(inner(inner(spec, "template"), "spec"))
}

func defaultPod(spec map[string]any) {
	fill(spec, "restartPolicy", "Always")
	fill(spec, "terminationGracePeriodSeconds", int64(30))
	fill(spec, "dnsPolicy", "ClusterFirst")
	fill(spec, "schedulerName", "default-scheduler")
	inner(spec, "securityContext")
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok {
				defaultContainer(container)
			}
		}
	}
}

func defaultContainer(container map[string]any) {
	fill(container, "terminationMessagePath", "/dev/termination-log")
	fill(container, "terminationMessagePolicy", "File")
	image, _ := container["image"].(string)
	policy := "IfNotPresent"
	if !strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") || strings.HasSuffix(image, ":latest") {
		policy = "Always"
	}
	fill(container, "imagePullPolicy", policy)
	ports, _ := container["ports"].([]any)
	for _, p := range ports {
		if port, ok := p.(map[string]any); ok {
			fill(port, "protocol", "TCP")
		}
	}
}

// resetStatus gives a new object the status that its kind begins with.
func resetStatus(kind string, obj map[string]any) {
	switch kind {
	case "Pod":
		obj["status"] = map[string]any{"phase": "Pending", "qosClass": "BestEffort"}
	case "Namespace":
	case definitionKind:
		resetDefinition(obj)
	default:
		obj["status"] = map[string]any{}
	}
}

// validate is what is wrong with an object; before is nil for a new one.
func (c *call) validate(obj, before *unstructured.Unstructured) field.ErrorList {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	metadata := metaOf(obj)
	name := nameRule(c.served.gvk.Kind)
	errs = apivalidation.ValidateObjectMeta(metadata, c.resource.namespaced, name, path)
	if before != nil {
		changed := apivalidation.ValidateObjectMetaUpdate(metadata, metaOf(before), path)
		errs = append(errs, changed...)
		if c.resource.definition == "" {
			errs = append(errs, changed...) // built-in kinds check it once more
		}
	}
	if c.resource.definition == "" && c.served.gvk.Kind != definitionKind {
		errs = append(errs, validateFinalizers(metadata.Finalizers, path.Child("finalizers"))...)
	}
	return append(errs, c.served.decoder.validate(obj, before, c.Subresource == "status")...)
}

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
		return func(string, bool) []string { return nil }
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
