package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// packageName is the name in a catalogue.
const packageName = "ambit"

// inVersion are the kinds whose objects the ClusterServiceVersion stands for, or OLM
// makes itself.
var inVersion = []string{"Namespace", "ServiceAccount", "Deployment", "Role", "RoleBinding", "ClusterRoleBinding"}

// apart are the kinds that a bundle cannot hold, by registry+v1: an administrator
// applies them.
var apart = []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

// makeBundle returns the files of a bundle by their paths.
func makeBundle(all []*unstructured.Unstructured, version, image string) (map[string][]byte, error) {
	csv, err := serviceVersion(all, version, image)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"metadata/annotations.yaml": annotations(), "bundle.Dockerfile": dockerfile()}
	if files["manifests/ambit.clusterserviceversion.yaml"], err = yaml.Marshal(csv); err != nil {
		return nil, err
	}
	for _, object := range all {
		if slices.Contains(inVersion, object.GetKind()) || slices.Contains(apart, object.GetKind()) || isOwnRole(object) {
			continue
		}
		object = object.DeepCopy()
		object.SetNamespace("")
		name := fmt.Sprintf("manifests/%s_%s.yaml", object.GetName(), strings.ToLower(object.GetKind()))
		if files[name], err = yaml.Marshal(object.Object); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// isOwnRole says whether a ClusterRole is one of Ambit's account.
func isOwnRole(object *unstructured.Unstructured) bool {
	return object.GetKind() == "ClusterRole" && slices.Contains([]string{"ambit", "ambit-metrics-auth"}, object.GetName())
}

// labels say what the folders of a bundle hold.
func labels() map[string]string {
	return map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1":       "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1":       "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":        "metadata/",
		"operators.operatorframework.io.bundle.package.v1":         packageName,
		"operators.operatorframework.io.bundle.channels.v1":        "alpha",
		"operators.operatorframework.io.bundle.channel.default.v1": "alpha",
	}
}

func annotations() []byte {
	var text strings.Builder
	text.WriteString("annotations:\n")
	for _, key := range slices.Sorted(maps.Keys(labels())) {
		fmt.Fprintf(&text, "  %s: %s\n", key, labels()[key])
	}
	return []byte(text.String())
}

func dockerfile() []byte {
	var text strings.Builder
	text.WriteString("FROM scratch\n")
	for _, key := range slices.Sorted(maps.Keys(labels())) {
		fmt.Fprintf(&text, "LABEL %s=%s\n", key, labels()[key])
	}
	text.WriteString("COPY manifests /manifests/\nCOPY metadata /metadata/\n")
	return []byte(text.String())
}
