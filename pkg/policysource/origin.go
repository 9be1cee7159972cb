package policysource

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Kind is what a policy stands in.
type Kind string

// The kinds of sources, in the order of their priority.
const (
	File           Kind = "file"
	CustomResource Kind = "crd"
	ConfigMap      Kind = "configmap"
)

func (k Kind) rank() int {
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

// object is the origin without the key: all of an object.
func (o Origin) object() Origin {
	o.Key = ""
	return o
}

// claim is what decides between two policies that want one name or one owner.
type claim struct {
	origin  Origin
	created time.Time
	index   int // of the document in its text
	// home: it is a file, or in Ambit's own namespace, where only those write who run
	// Ambit.
	home bool
}

// compareClaims orders claims by priority: files, then custom resources, then
// ConfigMaps; of one kind the older object, then by its names. Those in other
// namespaces come after all in Ambit's own: nobody can stop a policy of those who run
// Ambit by writing one of its name elsewhere. Before that, in other namespaces, comes what a
// name says (hasBetterName), and where owners are served (reachesOut).
func compareClaims(a, b claim) int {
	return cmp.Or(
		cmp.Compare(strconv.FormatBool(b.home), strconv.FormatBool(a.home)), // as text, too, true comes after false
		cmp.Compare(a.origin.Kind.rank(), b.origin.Kind.rank()),
		a.created.Compare(b.created),
		compareOrigins(a.origin, b.origin),
		cmp.Compare(a.index, b.index),
	)
}

// closeness says how much of a policy's name is that of its namespace, in bytes: names that
// begin with a namespace and a dash are for the policies in it.
func (c claim) closeness(name string) int {
	if namespace := c.origin.Namespace; !c.home && strings.HasPrefix(name+"-", namespace+"-") {
		return len(namespace)
	}
	return 0
}

// hasBetterName says whether c is to have a name rather than other, which goes before it
// otherwise.
func (c claim) hasBetterName(other claim, name string) bool {
	return !other.home && c.closeness(name) > other.closeness(name)
}

func compareOrigins(a, b Origin) int {
	return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
}
