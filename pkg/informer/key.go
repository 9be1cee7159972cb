package informer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Key says which objects an informer shows, to whom, and what it keeps of each.
// Needs with equal keys share one informer. Keys are comparable.
type Key struct {
	// Identity is whose rights the informer uses, as Options.Clients knows it.
	Identity string
	// GVR is the resource.
	GVR schema.GroupVersionResource
	// Namespace is the only one shown; "" is all of them, or a cluster-scoped
	// resource.
	Namespace string
	// LabelSelector and FieldSelector are evaluated by the API server; "" selects
	// everything. Write equal selectors in one way: keys compare as text.
	LabelSelector, FieldSelector string
	// Form is what is kept of each object.
	Form Form
}

// Form is what an informer keeps of each object. Beside that it always keeps
// apiVersion, kind, and of the metadata: name, namespace, uid, resourceVersion,
// deletionTimestamp and labels.
type Form struct {
	// Metadata asks the API server for metadata only.
	Metadata bool
	// Fields is fields.Set.String() of Interest.Fields.
	Fields string
	// Manager keeps the managedFields entries of this field manager, and of those
	// whose names begin with it and a slash; "" keeps none.
	Manager string
	// Versions makes every change of an object one that handlers are told of,
	// also of what is not kept of it: a new resourceVersion is enough.
	Versions bool
	// Storage names the Storage that has the objects, for people. "" is the informer's own store.
	Storage string
}

// Interest is one thing that a handler needs: an informer, and of it every object,
// those under one value of a label, or those of some names.
type Interest struct {
	Key Key
	// Fields is what is kept of each object; its text is Key.Form.Fields. Nil keeps
	// only what every informer keeps. It must not change any more.
	Fields *fields.Set
	// Kind of the objects, for metadata-only informers: the API server does not say
	// it there. "" leaves PartialObjectMetadata. Needs of one key agree on it.
	Kind string
	// IndexLabel and IndexValue reduce the need to the objects whose label
	// IndexLabel has the value IndexValue. An empty IndexLabel means every object.
	IndexLabel, IndexValue string
	// Names, unless it is nil, reduces the need to the objects of these names, in any
	// order; an empty list is none of them. A name is `namespace/name`; without a slash
	// it is in Key.Namespace, or of an object that has no namespace. IndexLabel is
	// ignored then. It must not change any more.
	Names []string
	// Storage has the objects, if Key.Form.Storage is not empty; else it is nil. Each Storage of one key has an informer
	// of its own; they share a stream if each is a SharedStorage.
	Storage Storage
}

// objectSubset returns the objects of the informer that the need is about.
func (n Interest) objectSubset() objectstore.Subset {
	switch {
	case n.Names != nil:
		return objectstore.SubsetOfNames(n.Names, n.Key.Namespace)
	case n.IndexLabel != "":
		return objectstore.Subset{Label: n.IndexLabel, Value: n.IndexValue}
	}
	return objectstore.Subset{}
}

// String is for people and logs.
func (k Key) String() string {
	var b strings.Builder
	b.WriteString(k.GVR.GroupResource().String())
	if k.Namespace != "" {
		fmt.Fprintf(&b, " in %q", k.Namespace)
	}
	for _, selector := range []string{k.LabelSelector, k.FieldSelector} {
		if selector != "" {
			fmt.Fprintf(&b, " with %s", selector)
		}
	}
	if k.Identity != "" {
		fmt.Fprintf(&b, " as %s", k.Identity)
	}
	return b.String()
}

// ofStream returns the key of the stream: what the API server is asked for.
func (k Key) ofStream() Key {
	k.Form = Form{Metadata: k.Form.Metadata}
	return k
}

func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Identity, b.Identity), cmp.Compare(a.GVR.String(), b.GVR.String()),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.LabelSelector, b.LabelSelector),
		cmp.Compare(a.FieldSelector, b.FieldSelector), cmp.Compare(a.Form.Fields, b.Form.Fields),
		cmp.Compare(a.Form.Manager, b.Form.Manager), cmp.Compare(a.Form.Storage, b.Form.Storage),
		// As text, too, false comes before true.
		cmp.Compare(strconv.FormatBool(a.Form.Metadata), strconv.FormatBool(b.Form.Metadata)),
		cmp.Compare(strconv.FormatBool(a.Form.Versions), strconv.FormatBool(b.Form.Versions)),
	)
}
