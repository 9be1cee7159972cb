package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selector says whether an object belongs to a stream, as far as that can be
// said without the API server. It is immutable.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    apifields.Selector // of names and namespaces
	// partial: there are terms that only the API server can evaluate.
	partial bool
}

// newSelector reads the selectors of a key. One that cannot be read makes the
// selector partial: the API server will refuse it.
func newSelector(key Key) selector {
	s := selector{namespace: key.Namespace}
	var err error
	if s.labels, err = labels.Parse(key.LabelSelector); err != nil {
		s.labels, s.partial = labels.Everything(), true
	}
	if s.fields, err = apifields.ParseSelector(key.FieldSelector); err != nil {
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

func (s selector) check(obj *unstructured.Unstructured) selection {
	known := apifields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	switch {
	case s.namespace != "" && s.namespace != obj.GetNamespace(), !s.labels.Matches(labels.Set(obj.GetLabels())):
		return notSelected
	case !s.fields.Matches(known):
		return notSelected
	case s.partial:
		return unknown
	}
	return selected
}
