package policystatus

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// maxSummaryMessage bounds a message in an annotation, in bytes, and maxSummaries how many policies one has.
const (
	maxSummaryMessage = 1024
	maxSummaries      = 32
)

// Summary is what the annotation of a ConfigMap says of one policy. It has no counts: they would have it written
// all the time.
type Summary struct {
	Key     string `json:"key"`
	Policy  string `json:"policy,omitempty"`
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Denied  bool   `json:"denied,omitempty"`
	Message string `json:"message,omitempty"`
}

// SummaryOf returns the summary of a policy with a status.
func SummaryOf(d registry.PolicyState, s Status) Summary {
	n := Summary{Key: d.Origin.Key, Policy: manifest.TruncateText(d.Name, maxSummaryMessage), Ready: s.Ready.Status == True, Reason: s.Ready.Reason, Denied: len(s.Denied) > 0}
	if n.Message = s.Ready.Message; s.Ready.Reason == v1alpha1.ReasonInvalid {
		n.Message += ": " + s.Valid.Message
	}
	n.Message = manifest.TruncateText(n.Message, maxSummaryMessage)
	return n
}

// AnnotationPatch returns the merge patch of a ConfigMap that makes its annotation say
// this, or takes it off if there is nothing to say; nil if it is as wanted.
func AnnotationPatch(object *unstructured.Unstructured, notes []Summary) ([]byte, error) {
	if len(notes) == 0 {
		if _, has := object.GetAnnotations()[v1alpha1.AnnotationStatus]; !has {
			return nil, nil
		}
		return annotationValuePatch(object, nil)
	}
	text, err := json.Marshal(notes[:min(len(notes), maxSummaries)])
	if err != nil {
		return nil, err
	}
	if object.GetAnnotations()[v1alpha1.AnnotationStatus] == string(text) {
		return nil, nil
	}
	return annotationValuePatch(object, string(text))
}

// annotationValuePatch is the merge patch that gives a ConfigMap's annotation a value; nil
// takes it off.
func annotationValuePatch(object *unstructured.Unstructured, value any) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(object.GetUID()), "annotations": map[string]any{v1alpha1.AnnotationStatus: value},
	}})
}

// summariesOn are the notes in the annotation of a ConfigMap; none if it has none, or one that
// somebody else wrote.
func summariesOn(object *unstructured.Unstructured) []Summary {
	var notes []Summary
	if err := json.Unmarshal([]byte(object.GetAnnotations()[v1alpha1.AnnotationStatus]), &notes); err != nil {
		return nil
	}
	return notes
}
