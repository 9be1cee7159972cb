package apply

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestPatchType: a strategic merge patch is for the kinds that understand one, and never where a key
// of the content would be an instruction.
func TestPatchType(t *testing.T) {
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	replicas := map[string]any{"spec": map[string]any{"replicas": int64(2)}}
	for name, c := range map[string]struct {
		kind    schema.GroupVersionKind
		changes map[string]any
		want    types.PatchType
	}{
		"Deployment":     {deployment, replicas, types.StrategicMergePatchType},
		"Core":           {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, map[string]any{"data": map[string]any{"a": "$patch"}}, types.StrategicMergePatchType},
		"CustomResource": {schema.GroupVersionKind{Group: "apps.example.com", Version: "v1", Kind: "Deployment"}, replicas, types.MergePatchType},
		"Policy":         {schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, replicas, types.MergePatchType},
		"Directive":      {deployment, map[string]any{"$patch": "replace"}, types.MergePatchType},
		"DirectiveBelow": {deployment, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"$retainKeys": "x"}}}, types.MergePatchType},
	} {
		t.Run(name, func(t *testing.T) {
			if got := patchTypeFor(c.kind, c.changes); got != c.want {
				t.Errorf("it is sent as %s, want %s", got, c.want)
			}
		})
	}
}

// TestStrategicGroups: no kind of the groups has a map that a strategic merge patch replaces. The
// selector of a PodDisruptionBudget shows that the search finds one.
func TestStrategicGroups(t *testing.T) {
	searched := 0
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		if !strategicGroups.Has(kind.Group) {
			continue
		}
		searched++
		if replaced := replacedMaps(goType, nil); len(replaced) > 0 {
			t.Errorf("a patch of %s replaces %v", kind, replaced)
		}
	}
	if searched < 50 {
		t.Errorf("only %d kinds were searched", searched)
	}
	budget := scheme.Scheme.AllKnownTypes()[schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}]
	if replaced := replacedMaps(budget, nil); len(replaced) != 1 {
		t.Errorf("of a PodDisruptionBudget a patch replaces %v, want the selector", replaced)
	}
}

// replacedMaps are the fields below a type that become maps and that a patch replaces. above are
// the types that it is in.
func replacedMaps(of reflect.Type, above []reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if slices.Contains(above, of) || of.Kind() != reflect.Struct || of == reflect.TypeFor[metav1.FieldsV1]() {
		return nil
	}
	var replaced []string
	for i := range of.NumField() {
		field := of.Field(i)
		if strings.Contains(field.Tag.Get("patchStrategy"), "replace") && becomesMap(field.Type) {
			replaced = append(replaced, of.Name()+"."+field.Name)
		}
		replaced = append(replaced, replacedMaps(field.Type, append(above, of))...)
	}
	return replaced
}

func becomesMap(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Map || t.Kind() == reflect.Struct
}
