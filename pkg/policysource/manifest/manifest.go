// Package manifest holds the texts that policies stand in, and compiles them: where a text comes from, what is
// known of its object, and what became of each of its policies. It is pure.
//
// A Manifest is one file, one key of a ConfigMap, or one custom resource. A Snapshot has the manifests of all
// sources at one moment, and the locations of which it has everything: what is missing there was removed,
// what is missing elsewhere has only not been seen.
package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// Manifest is the text that stands in one place: a file, one key of a ConfigMap, or a custom
// resource. It is immutable.
type Manifest struct {
	Origin Origin
	// Data is the text of a file or a ConfigMap, Object the content of a custom resource.
	Data   []byte
	Object map[string]any
	// Unreadable is why it could not be read; nil if it could.
	Unreadable error
	// Digest is that of Data, Object and Unreadable; see WithDigest.
	Digest string
	// Size is of what the digest is of, in bytes.
	Size int
	// Steady: the last two readings of the file, a second apart at least, found this text. What
	// comes from an API server is steady at once.
	Steady bool
	// JustWritten: the file was written so shortly before the reading that it may be written still.
	JustWritten bool
	// Created, UID and Generation are those of the object; zero for files.
	Created    time.Time
	UID        types.UID
	Generation int64
	// Deleting and HasFinalizer: the custom resource is being deleted, and has the finalizer.
	// CannotSetFinalizer: the finalizer cannot be put there.
	Deleting, HasFinalizer, CannotSetFinalizer bool
	// Contents is the compiled text; nil if it is not compiled yet.
	Contents *Contents
	// HasOwners: its status says that it has owners.
	HasOwners bool
}

// WithContentsOf returns the manifest with the text of an older version, for the time until its own
// is compiled. It has the generation of the older one, or none, so that nobody takes it for the newest.
// It is no steadier than the older one was.
func (t Manifest) WithContentsOf(old Manifest) Manifest {
	if t.UID != old.UID {
		old.Generation = 0
	}
	t.Data, t.Object, t.Unreadable, t.Digest, t.Size, t.Steady = old.Data, old.Object, old.Unreadable, old.Digest, old.Size, old.Steady
	t.Generation, t.Contents = old.Generation, old.Contents
	return t
}

// WithDigest returns the manifest with the digest and the size of its text.
func (t Manifest) WithDigest() Manifest {
	hash, size := sha256.New(), byteCounter(0)
	to := io.MultiWriter(hash, &size)
	to.Write(t.Data) // neither fails
	if t.Object != nil {
		// What comes from an API server can be encoded.
		if err := json.NewEncoder(to).Encode(map[string]any{
			"apiVersion": t.Object["apiVersion"], "kind": t.Object["kind"], "spec": t.Object["spec"],
		}); err != nil {
			fmt.Fprintf(to, "%v", err)
		}
	}
	if t.Unreadable != nil {
		fmt.Fprintf(to, "\x00%v", t.Unreadable)
	}
	t.Digest, t.Size = hex.EncodeToString(hash.Sum(nil)), int(size)
	return t
}

// byteCounter counts what is written to it.
type byteCounter int

func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}

// FromCustomResource returns the manifest of a ReconcilePolicy.
func FromCustomResource(object *unstructured.Unstructured) []Manifest {
	t := Manifest{
		Steady: true,
		Origin: Origin{Kind: CustomResource, Namespace: object.GetNamespace(), Name: object.GetName()},
		Object: object.Object, Created: object.GetCreationTimestamp().Time, UID: object.GetUID(), Generation: object.GetGeneration(),
		Deleting:     object.GetDeletionTimestamp() != nil,
		HasFinalizer: slices.Contains(object.GetFinalizers(), v1alpha1.FinalizerCleanup),
	}
	owners, _, _ := unstructured.NestedInt64(object.Object, "status", "owners") // none if it is no number
	t.HasOwners = owners > 0
	return []Manifest{t.WithDigest()}
}

// FromConfigMap returns a manifest of each key that is the name of a YAML file. A ConfigMap that is
// being deleted has none.
func FromConfigMap(object *unstructured.Unstructured) []Manifest {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	data, _, err := unstructured.NestedStringMap(object.Object, "data")
	if err != nil {
		return nil // it comes from an API server: data holds strings
	}
	var texts []Manifest
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !syntax.IsFileName(key) {
			continue
		}
		t := Manifest{
			Steady:  true,
			Origin:  Origin{Kind: ConfigMap, Namespace: object.GetNamespace(), Name: object.GetName(), Key: key},
			Data:    []byte(data[key]),
			Created: object.GetCreationTimestamp().Time, UID: object.GetUID(),
		}
		texts = append(texts, t.WithDigest())
	}
	return texts
}

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
