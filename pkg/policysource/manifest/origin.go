package manifest

import (
	"cmp"
)

// Kind is what a policy stands in.
type Kind string

// The kinds of sources, in the order of their priority.
const (
	File           Kind = "file"
	CustomResource Kind = "crd"
	ConfigMap      Kind = "configmap"
)

func (k Kind) Precedence() int {
	switch k {
	case File:
		return 0
	case CustomResource:
		return 1
	}
	return 2
}

// Origin is the text that a policy stands in. It is comparable.
type Origin struct {
	Kind Kind
	// File is the path of a file; else empty.
	File string
	// Namespace and Name are those of the object, Key that of the ConfigMap's data.
	Namespace, Name, Key string
}

// String is how messages name the text: `policies/a.yaml`, `reconcilepolicy ns/name`,
// `configmap ns/name a.yaml`.
func (o Origin) String() string {
	switch o.Kind {
	case CustomResource:
		return "reconcilepolicy " + o.Namespace + "/" + o.Name
	case ConfigMap:
		return "configmap " + o.Namespace + "/" + o.Name + " " + o.Key
	}
	return o.File
}

// WithoutKey is the origin without the key: all of an object.
func (o Origin) WithoutKey() Origin {
	o.Key = ""
	return o
}

// CompareOrigins orders origins by the precedence of their kinds, then by their names.
func CompareOrigins(a, b Origin) int {
	return cmp.Or(cmp.Compare(a.Kind.Precedence(), b.Kind.Precedence()), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
}
