package ssadiff

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/managedfields"
)

// segment is one step of a path: a field's name, a list position counted from 1,
// the key of a list item, or the value of a set's element. Names and keys are shown.
type segment struct {
	name  string
	index int
	key   []managedfields.KeyField
	value any
}

func pathText(path []segment) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.index > 0:
			fmt.Fprintf(&b, "[%d]", s.index-1)
		case s.key != nil:
			b.WriteString("[" + managedfields.KeyText(s.key) + "]")
		case s.value != nil:
			b.WriteString("[=" + DescribeValue(s.value) + "]")
		case s.name == "" || strings.ContainsAny(s.name, "./[] "):
			b.WriteString("[" + strconv.Quote(s.name) + "]")
		case b.Len() == 0:
			b.WriteString(s.name)
		default:
			b.WriteString("." + s.name)
		}
	}
	return b.String()
}

// hasNoDefaults reports whether the current path is a map that the API server puts no
// defaults in: what the Update entry holds of it was set by the manager.
func (d *comparison) hasNoDefaults() bool {
	if len(d.path) == 0 {
		return false
	}
	name := d.path[len(d.path)-1].name
	return hasNoDefaults(name) || len(d.path) == 1 && (name == "data" || name == "binaryData")
}

// isGranular reports whether the current path is known to be a map of which each key has an owner of its
// own. Of others the entries do not say whether a leaf is a map that is taken as one, as the data of a
// ControllerRevision is.
func (d *comparison) isGranular() bool {
	name := d.path[len(d.path)-1].name
	switch len(d.path) {
	case 1:
		return d.hasTexts && (name == "data" || name == "binaryData")
	case 2:
		return d.path[0].name == "metadata" && (name == "labels" || name == "annotations")
	}
	return false
}

// hasTexts reports whether a kind has texts by their keys in data and binaryData.
func hasTexts(kind schema.GroupVersionKind) bool {
	return kind.Group == "" && (kind.Kind == "ConfigMap" || kind.Kind == "Secret")
}

// isMetadata reports whether the current path is that of the metadata as a whole, which
// nobody takes over: of a merged object it may hold the identity alone.
func (d *comparison) isMetadata() bool { return len(d.path) == 1 && d.path[0].name == "metadata" }

// isReferences reports whether a key at the current path is the ownerReferences: the API
// server sets none.
func (d *comparison) isReferences(key string) bool {
	return key == "ownerReferences" && len(d.path) == 1 && d.path[0].name == "metadata"
}

// atOurs reports whether the current path is that of what Ambit itself adds to an object:
// its labels and annotations, the ownerReferences.
func (d *comparison) atOurs() bool {
	if len(d.path) < 2 || d.path[0].name != "metadata" {
		return false
	}
	switch d.path[1].name {
	case "ownerReferences":
		return true
	case "labels", "annotations":
		key := d.path[len(d.path)-1].name
		return len(d.path) == 2 || key == v1alpha1.LabelManagedBy || strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/")
	}
	return false
}

// atClaim reports whether the current path is that of the claim, which is nobody's
// business.
func (d *comparison) atClaim() bool {
	return len(d.path) == 3 && d.path[2].name == v1alpha1.AnnotationClaim && d.path[1].name == "annotations"
}

// atAnnotations reports whether the current path is that of the annotations, which
// are no difference as a whole: the field set among them does not count.
func (d *comparison) atAnnotations() bool {
	return len(d.path) == 2 && d.path[1].name == "annotations" && d.path[0].name == "metadata"
}

// labelMetadataName is the label that the API server itself sets on Namespaces.
const labelMetadataName = "kubernetes.io/metadata.name"

// isIgnored reports whether a key at the current path is not for us to compare: the
// object's identity, its status, what only the API server sets, and the field set,
// which has its own comparison.
func (d *comparison) isIgnored(key string) bool {
	switch len(d.path) {
	case 0:
		return key == "apiVersion" || key == "kind" || key == "status"
	case 1:
		return d.path[0].name == "metadata" && IsServerMetadata(key)
	case 2:
		return key == annotationFields && d.atAnnotations() || key == labelMetadataName && d.path[1].name == "labels" && d.path[0].name == "metadata"
	}
	return false
}

// IsServerMetadata reports whether a field of metadata is the object's identity, or set by
// nobody but the API server.
func IsServerMetadata(key string) bool {
	switch key {
	case "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink":
		return true
	}
	return false
}
