package syntax

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// mostBytes is the longest string, as in the schema of the API.
const mostBytes = 4096

// mostItems is the longest list of a type or at a path, as in the schema of the API.
func mostItems(t reflect.Type, path string) int {
	switch {
	case strings.HasSuffix(path, ".readyWhen"):
		return 16
	case t == reflect.TypeFor[[]v1alpha1.Watch](), t == reflect.TypeFor[[]v1alpha1.Condition](),
		t == reflect.TypeFor[[]v1alpha1.Ensured]():
		return 32
	case t == reflect.TypeFor[[]v1alpha1.Variable](), t == reflect.TypeFor[[]v1alpha1.Child](), strings.HasSuffix(path, ".dependsOn"):
		return 64
	default:
		return 1024
	}
}

// mostNumber is the largest number at a path, as in the schema of the API. Where
// there is none, nothing is compiled from the number.
func mostNumber(path string) (most int64, limited bool) {
	if strings.HasPrefix(path, "spec.children[") && strings.HasSuffix(path, ".keep") {
		return 1000, true
	}
	return 0, false
}

// enum returns the legal values of a string type; nil for any.
func enum(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[v1alpha1.InformerMode]():
		return []string{"Auto", "Owner", "Namespace", "Cluster"}
	case reflect.TypeFor[v1alpha1.ApplyMode]():
		return []string{"Apply", "Create", "Recreate"}
	case reflect.TypeFor[v1alpha1.ExistingMode]():
		return []string{"Refuse", "Adopt", "Merge"}
	case reflect.TypeFor[v1alpha1.DeleteMode]():
		return []string{"Delete", "Orphan"}
	case reflect.TypeFor[v1alpha1.UpdateMode]():
		return []string{"Parallel", "OneByOne"}
	case reflect.TypeFor[v1alpha1.DeletionOrder]():
		return []string{"Background", "Ordered"}
	case reflect.TypeFor[metav1.LabelSelectorOperator]():
		return []string{"In", "NotIn", "Exists", "DoesNotExist"}
	default:
		return nil
	}
}
