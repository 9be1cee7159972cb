package simulate

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
	"github.com/ambit-dev/ambit/pkg/plan/desired"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// keepMade returns what the controller keeps of an object. A file that says of no value that Ambit has made it leaves that out:
// each value is one whose key a child of the program makes. A value that is a text form, as plans show it, stands
// for one that is valid.
func keepMade(program *policy.Program, object *unstructured.Unstructured) *unstructured.Unstructured {
	if !program.MakesSecrets() || !desired.IsSecret(object.GroupVersionKind()) {
		return object
	}
	data, _ := object.Object["data"].(map[string]any)
	record, assumed := secretview.Record{}, []string{}
	for _, child := range program.Children {
		for _, key := range child.PrivateKeys() {
			if _, there := data[key]; there {
				record[key] = secretview.Entry{At: object.GetCreationTimestamp().Time}
			}
		}
	}
	for key, value := range data {
		if text, _ := value.(string); strings.HasPrefix(text, "<made: ") {
			assumed = append(assumed, key)
		}
	}
	if _, given := object.GetAnnotations()[v1alpha1.AnnotationMade]; !given && len(record)+len(assumed) > 0 {
		if text, err := record.Text(); err == nil {
			setAnnotation(object, v1alpha1.AnnotationMade, text)
		}
	}
	return secretview.Assume(secretview.ReduceObject(object), assumed)
}
