package faultplan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// userLabel is what users write on children.
const userLabel = "user"

// keyOf names an object.
func keyOf(obj *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", obj.GetKind(), obj.GetNamespace(), obj.GetName())
}

// texts is what there is, without what two runs cannot have alike: uids, times, versions.
// known are texts from before: objects are not changed. The right to watch RBAC objects is
// none of it.
func texts(server *sim.Server, known map[*unstructured.Unstructured]string) map[string]string {
	objects := server.Objects()
	all := make(map[string]string, len(objects))
	for _, obj := range objects {
		if isTrigger(obj) {
			continue
		}
		text, ok := known[obj]
		if !ok {
			text = textOf(obj)
			known[obj] = text
		}
		all[keyOf(obj)] = text
	}
	return all
}

// isTrigger says whether an object is of the right to watch RBAC objects.
func isTrigger(obj *unstructured.Unstructured) bool {
	return obj.GetName() == triggers && obj.GetNamespace() == ""
}

func textOf(obj *unstructured.Unstructured) string {
	content := plain(obj.Object, obj.GetGeneration()).(map[string]any)
	metadata := map[string]any{"name": obj.GetName()}
	if namespace := obj.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	if finalizers := slices.Sorted(slices.Values(obj.GetFinalizers())); len(finalizers) > 0 {
		metadata["finalizers"] = finalizers
	}
	for field, of := range map[string]map[string]string{"labels": obj.GetLabels(), "annotations": obj.GetAnnotations()} {
		of = maps.Clone(of)
		maps.DeleteFunc(of, func(key, _ string) bool {
			return v1alpha1.IsReservedKey(key) || key == userLabel || key == revisionAnnotation
		})
		if len(of) > 0 {
			metadata[field] = of
		}
	}
	for _, ref := range obj.GetOwnerReferences() {
		metadata["owner"] = ref.Kind + " " + ref.Name
	}
	if obj.GetDeletionTimestamp() != nil {
		metadata["deletionTimestamp"] = "set"
	}
	content["metadata"] = metadata
	text, err := json.Marshal(content) // YAML takes ten times as long
	if err != nil {
		return err.Error() // what was stored can be written
	}
	if uid := string(obj.GetUID()); uid != "" {
		return strings.ReplaceAll(string(text), uid, "its-own-uid")
	}
	return string(text)
}

// plain leaves times and addresses out, and says of an observed generation how far it is behind.
func plain(value any, generation int64) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for field, inner := range v {
			switch field {
			case "lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startTime", "startedAt", "finishedAt", "completionTime", "clusterIP", "clusterIPs":
				continue
			case "observedGeneration":
				if seen, ok := inner.(int64); ok {
					out["generationsBehind"] = generation - seen
				}
				continue
			}
			out[field] = plain(inner, generation)
			if list, ok := out[field].([]any); ok && field == "conditions" {
				slices.SortFunc(list, byType) // a list by type: its order says nothing
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = plain(inner, generation)
		}
		return out
	}
	return value
}

func byType(a, b any) int {
	one, _ := a.(map[string]any)
	other, _ := b.(map[string]any)
	return cmp.Compare(fmt.Sprint(one["type"]), fmt.Sprint(other["type"]))
}

// inLines is a text of textOf as people read it.
func inLines(text string) string {
	lines, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		return text // it is empty, or an error
	}
	return string(lines)
}
