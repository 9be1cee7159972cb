package policysource

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// mostNoted bounds a message in an annotation, in bytes, and mostNotes how many
// documents one tells of.
const (
	mostNoted = 1024
	mostNotes = 32
)

// note is what the annotation of a ConfigMap says of one document. It has no counts: they
// would have it written all the time.
type note struct {
	Key     string `json:"key"`
	Policy  string `json:"policy,omitempty"`
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Denied  bool   `json:"denied,omitempty"`
	Message string `json:"message,omitempty"`
}

func noteOf(d document, s said) note {
	n := note{Key: d.origin.Key, Policy: shortened(d.name, mostNoted), Ready: s.ready.status == isTrue, Reason: s.ready.reason, Denied: len(s.denied) > 0}
	if n.Message = s.ready.message; s.ready.reason == v1alpha1.ReasonInvalid {
		n.Message += ": " + s.valid.message
	}
	n.Message = shortened(n.Message, mostNoted)
	return n
}

// annotationPatch returns the merge patch of a ConfigMap that makes its annotation say
// this, or takes it off if there is nothing to say; nil if it is as wanted.
func annotationPatch(object *unstructured.Unstructured, notes []note) ([]byte, error) {
	if len(notes) == 0 {
		if _, has := object.GetAnnotations()[v1alpha1.AnnotationStatus]; !has {
			return nil, nil
		}
		return patchOfAnnotation(object, nil)
	}
	text, err := json.Marshal(notes[:min(len(notes), mostNotes)])
	if err != nil {
		return nil, err
	}
	if object.GetAnnotations()[v1alpha1.AnnotationStatus] == string(text) {
		return nil, nil
	}
	return patchOfAnnotation(object, string(text))
}

// patchOfAnnotation is the merge patch that gives a ConfigMap's annotation a value; nil
// takes it off.
func patchOfAnnotation(object *unstructured.Unstructured, value any) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(object.GetUID()), "annotations": map[string]any{v1alpha1.AnnotationStatus: value},
	}})
}

// notesOn are the notes in the annotation of a ConfigMap; none if it has none, or one that
// somebody else wrote.
func notesOn(object *unstructured.Unstructured) []note {
	var notes []note
	if err := json.Unmarshal([]byte(object.GetAnnotations()[v1alpha1.AnnotationStatus]), &notes); err != nil {
		return nil
	}
	return notes
}
