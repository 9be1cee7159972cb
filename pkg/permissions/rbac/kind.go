package rbac

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is what rules need to know of a kind.
type Kind struct {
	// Resource is the plural of the kind, with its group.
	Resource schema.GroupResource
	// Namespaced: its objects are in namespaces.
	Namespaced bool
}

// GuessKind returns what a kind most likely is: its plural by the rules that the
// kinds of Kubernetes keep to, and namespaced unless it is one of those kinds of
// Kubernetes that are not. Of Kubernetes' own kinds the guess is right.
func GuessKind(gvk schema.GroupVersionKind) Kind {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return Kind{
		Resource:   plural.GroupResource(),
		Namespaced: !IsKnown(gvk),
	}
}

// IsKnown says whether a kind is among those of Kubernetes that Guess knows to have no
// namespace.
func IsKnown(gvk schema.GroupVersionKind) bool {
	return slices.Contains(clusterScoped()[gvk.Group], gvk.Kind)
}

// clusterScoped returns Kubernetes' own kinds that have no namespace, by group.
// A test holds it against what an API server serves.
func clusterScoped() map[string][]string {
	return map[string][]string{
		"": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
		"admissionregistration.k8s.io": {
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
		},
		"apiextensions.k8s.io":         {"CustomResourceDefinition"},
		"apiregistration.k8s.io":       {"APIService"},
		"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
		"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
		"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
		"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
		"internal.apiserver.k8s.io":    {"StorageVersion"},
		"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
		"node.k8s.io":                  {"RuntimeClass"},
		"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
		"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"},
		"scheduling.k8s.io":            {"PriorityClass"},
		"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
		"storagemigration.k8s.io":      {"StorageVersionMigration"},
	}
}

// FromDefinition returns the kind that a CustomResourceDefinition defines, and
// what it is. The error says what is missing in the definition.
func FromDefinition(definition *unstructured.Unstructured) (schema.GroupKind, Kind, error) {
	var err error
	read := func(fields ...string) string {
		value, found, wrong := unstructured.NestedString(definition.Object, fields...)
		if err == nil && wrong != nil {
			err = wrong
		}
		if err == nil && (!found || value == "") {
			err = fmt.Errorf("%v is missing", fields)
		}
		return value
	}
	group, kind, plural, scope := read("spec", "group"), read("spec", "names", "kind"), read("spec", "names", "plural"), read("spec", "scope")
	if err != nil {
		return schema.GroupKind{}, Kind{}, fmt.Errorf("reading CustomResourceDefinition %q: %w", definition.GetName(), err)
	}
	found := Kind{Resource: schema.GroupResource{Group: group, Resource: plural}, Namespaced: scope == "Namespaced"}
	return schema.GroupKind{Group: group, Kind: kind}, found, nil
}
