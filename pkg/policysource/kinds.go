package policysource

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// customResources says how ReconcilePolicies are read.
func customResources() kindOfObject {
	return kindOfObject{
		kind: CustomResource, name: "custom resources",
		resource:  v1alpha1.GroupVersion.WithResource(v1alpha1.Resource),
		kept:      fields.New("spec", "status", "metadata.generation", "metadata.creationTimestamp", "metadata.finalizers"),
		texts:     textOfResource,
		finalized: true, subresource: "status",
	}
}

// configMaps says how ConfigMaps are read. What Ambit makes itself never has their label; that
// it is not read as a policy does not rest on that alone.
func configMaps() kindOfObject {
	kept := fields.New("data", "metadata.creationTimestamp")
	kept.Add("metadata", "annotations", v1alpha1.AnnotationStatus)
	return kindOfObject{
		kind: ConfigMap, name: "ConfigMaps",
		resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		selector: v1alpha1.LabelPolicySource + "=" + v1alpha1.PolicySourceValue + "," + v1alpha1.LabelManagedBy + "!=" + v1alpha1.ManagedBy,
		kept:     kept,
		texts:    textsOfConfigMap,
	}
}

func textOfResource(object *unstructured.Unstructured) []text {
	t := text{
		steady: true,
		origin: Origin{Kind: CustomResource, Namespace: object.GetNamespace(), Name: object.GetName()},
		object: object.Object, created: object.GetCreationTimestamp().Time, uid: object.GetUID(), generation: object.GetGeneration(),
		deleting: object.GetDeletionTimestamp() != nil,
		guarded:  slices.Contains(object.GetFinalizers(), v1alpha1.FinalizerCleanup),
	}
	owners, _, _ := unstructured.NestedInt64(object.Object, "status", "owners") // none if it is no number
	t.owned = owners > 0
	t.digest, t.size = digestOf(t)
	return []text{t}
}

// textsOfConfigMap makes a text of each key. One that is being deleted has none.
func textsOfConfigMap(object *unstructured.Unstructured) []text {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	data, _, err := unstructured.NestedStringMap(object.Object, "data")
	if err != nil {
		return nil // it comes from an API server: data holds strings
	}
	var texts []text
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !syntax.IsFileName(key) {
			continue
		}
		t := text{
			steady:  true,
			origin:  Origin{Kind: ConfigMap, Namespace: object.GetNamespace(), Name: object.GetName(), Key: key},
			data:    []byte(data[key]),
			created: object.GetCreationTimestamp().Time, uid: object.GetUID(),
		}
		t.digest, t.size = digestOf(t)
		texts = append(texts, t)
	}
	return texts
}
