package objectstore

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Selection is whether an object belongs to an informer.
type Selection int

const (
	// SelectionUnknown depends on a field that only the API server reads.
	SelectionUnknown Selection = iota
	// Selected: the object belongs to the informer.
	Selected
	// NotSelected: it does not.
	NotSelected
)

// Selector decides whether an object belongs to an informer, as far as that can be
// said without the API server. It is immutable.
type Selector struct {
	namespace string
	labels    labels.Selector
	fields    apifields.Selector // of names and namespaces
	// partial: there are terms that only the API server can evaluate.
	partial bool
}

// NewSelector reads the selectors of an informer; "" selects everything. One that cannot
// be read makes the Selector partial: the API server will refuse it.
func NewSelector(namespace, labelSelector, fieldSelector string) Selector {
	s := Selector{namespace: namespace}
	var err error
	if s.labels, err = labels.Parse(labelSelector); err != nil {
		s.labels, s.partial = labels.Everything(), true
	}
	if s.fields, err = apifields.ParseSelector(fieldSelector); err != nil {
		s.fields, s.partial = apifields.Everything(), true
	}
	s.fields, err = s.fields.Transform(func(field, value string) (string, string, error) {
		if field == "metadata.name" || field == "metadata.namespace" {
			return field, value, nil
		}
		s.partial = true
		return "", "", nil // the term is left out
	})
	if err != nil { // not from the function above
		s.fields, s.partial = apifields.Everything(), true
	}
	return s
}

// Evaluate says whether an object belongs to the informer.
func (s Selector) Evaluate(obj metav1.Object) Selection {
	known := apifields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	switch {
	case s.namespace != "" && s.namespace != obj.GetNamespace(), !s.labels.Matches(labels.Set(obj.GetLabels())):
		return NotSelected
	case !s.fields.Matches(known):
		return NotSelected
	case s.partial:
		return SelectionUnknown
	}
	return Selected
}
