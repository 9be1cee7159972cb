package projection

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// Decode makes the object to keep of its JSON, which must be valid (jsonwalk) and may be used again
// afterwards. It is what ProjectDelivered makes of the decoded object, but what is not kept is not
// made first, and what other objects have is taken from them.
func (p *Projection) Decode(data []byte) (Transformed, error) {
	w := jsonwalk.New(data)
	if kind := w.NextKind(); kind != '{' {
		return Transformed{}, fmt.Errorf("decoding an object: it begins with %q", kind)
	}
	if p.projector.secrets && bytes.Contains(data, []byte(v1alpha1.AnnotationMade)) {
		return p.decodeMade(w)
	}
	p.interner.mu.Lock()
	defer p.interner.mu.Unlock()
	r := reader{p.projector, p.interner, w, 0}
	object := r.readObject()
	if err := w.Err(); err != nil {
		return Transformed{}, fmt.Errorf("decoding an object: %w", err)
	}
	return Transformed{&unstructured.Unstructured{Object: object}}, nil
}

// decodeMade is Decode of a Secret with values that Ambit made: nothing of them gets among what objects share.
func (p *Projection) decodeMade(w *jsonwalk.Walker) (Transformed, error) {
	object, _ := w.ReadValue().(map[string]any)
	if err := w.Err(); err != nil {
		return Transformed{}, fmt.Errorf("decoding an object: %w", err)
	}
	return Transformed{p.internObject(p.projector.projectObject(&unstructured.Unstructured{Object: object}))}, nil
}

// ReadVersion returns what tells one version of an object from all others of its kind, of its JSON, which
// must be valid. It reads no further than it must.
func ReadVersion(data []byte) (name types.NamespacedName, resourceVersion string) {
	w := jsonwalk.New(data)
	if w.NextKind() != '{' {
		return name, ""
	}
	w.EnterNested()
	for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
		if string(key) == "metadata" && w.NextKind() == '{' {
			return readVersion(w)
		}
		w.SkipValue()
	}
	return name, ""
}

// readVersion is ReadVersion of the metadata that is next.
func readVersion(w *jsonwalk.Walker) (name types.NamespacedName, resourceVersion string) {
	w.EnterNested()
	for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
		switch string(key) {
		case "name":
			name.Name = stringOf(w)
		case "namespace":
			name.Namespace = stringOf(w)
		case "resourceVersion": // after the others, as the API server writes them
			return name, stringOf(w)
		default:
			w.SkipValue()
		}
	}
	return name, ""
}

// stringOf reads the value that is next; empty if it is no string.
func stringOf(w *jsonwalk.Walker) string {
	if w.NextKind() == '"' {
		return string(w.ReadText())
	}
	w.SkipValue()
	return ""
}

// reader reads one object. The interner's mu is held, which guards what is changed here: its parts, and the elements of
// lists that are being read.
type reader struct {
	projector
	*interner
	*jsonwalk.Walker
	depth int // of objects and lists around the next value
}

func (r reader) readObject() map[string]any {
	object := map[string]any{}
	r.EnterNested()
	for key, ok := r.NextKey(); ok; key, ok = r.NextKey() {
		sub := r.fields.SubOf(key)
		switch {
		case sub == nil:
			r.SkipValue()
		case string(key) == "metadata" && r.NextKind() == '{':
			object["metadata"] = r.readMetadata(sub)
		default:
			object[internText(r.interner, key).textKey()], _ = r.readValue(sub)
		}
	}
	return object
}

// readMetadata leaves alone what is different in every object, and keeps of managedFields what
// the projector says.
func (r reader) readMetadata(set *fields.Set) map[string]any {
	metadata := map[string]any{}
	r.EnterNested()
	for key, ok := r.NextKey(); ok; key, ok = r.NextKey() {
		if string(key) == "managedFields" {
			if kept := r.readEntries(); kept != nil {
				metadata["managedFields"] = kept
			}
			continue
		}
		sub := set.SubOf(key)
		if sub == nil {
			r.SkipValue()
			continue
		}
		name := internText(r.interner, key).textKey()
		switch {
		case (name == "name" || name == "uid" || name == "resourceVersion") && r.NextKind() == '"':
			metadata[name] = string(r.ReadText())
		default:
			metadata[name], _ = r.readValue(sub)
		}
	}
	return metadata
}

// readEntries reads the managedFields entries that are kept, nil if there is none.
func (r reader) readEntries() any {
	if r.manager == "" || r.NextKind() != '[' {
		r.SkipValue()
		return nil
	}
	var kept []any
	hash := uint64(0)
	for r.EnterNested(); r.NextElement(); {
		raw := r.SkipValue()
		if !r.keepsManager(managerOf(raw)) {
			continue
		}
		entry, h := reader{r.projector, r.interner, jsonwalk.New(raw), 0}.readValue(r.entries)
		kept, hash = append(kept, entry), mixHashes(hash, h)
	}
	if kept == nil {
		return nil
	}
	return r.sharedPart(slices.Clip(kept), hash)
}

// managerOf returns the manager that an entry of managedFields names.
func managerOf(entry []byte) (manager string) {
	w := jsonwalk.New(entry)
	if w.NextKind() != '{' {
		return ""
	}
	w.EnterNested()
	for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
		if string(key) == "manager" && w.NextKind() == '"' {
			manager = string(w.ReadText())
			continue
		}
		w.SkipValue()
	}
	return manager
}

// readValue reads what a set, which is not nil, covers of the next value, and returns it with its hash.
func (r reader) readValue(set *fields.Set) (any, uint64) {
	switch r.NextKind() {
	case '{', '[':
		return r.readNested(set)
	case '"':
		t := internText(r.interner, r.ReadText())
		return t.value, t.hash
	}
	return r.shareValue(r.ReadScalar())
}

const (
	// shortText is the length, in bytes, below which the text of an object or a list is not looked for
	// among those read before: reading it costs less.
	shortText = 96
	// deepText is how deep a text may be that is looked for. Each level makes the digest of all below it, so
	// an object costs at most so many digests of its length.
	deepText = 12
)

// readNested reads an object or a list, and does not if the same text was read lately.
func (r reader) readNested(set *fields.Set) (any, uint64) {
	if r.depth++; r.depth > deepText {
		return r.readParts(set)
	}
	ahead := *r.Walker
	raw := ahead.SkipValue()
	if len(raw) < shortText {
		return r.readParts(set)
	}
	text := textDigest{sha256.Sum256(raw), set}
	if found, ok := r.read.find(text); ok {
		*r.Walker = ahead
		return found.value, found.hash
	}
	value, hash := r.readParts(set)
	if r.Err() == nil {
		r.read.remember(text, sharedValue{value, hash})
	}
	return value, hash
}

func (r reader) readParts(set *fields.Set) (any, uint64) {
	if r.NextKind() == '{' {
		return r.readMap(set)
	}
	return r.readList(set)
}

func (r reader) readMap(set *fields.Set) (any, uint64) {
	object, hash := map[string]any{}, uint64(0)
	r.EnterNested()
	for key, ok := r.NextKey(); ok; key, ok = r.NextKey() {
		sub := set.SubOf(key)
		if sub == nil {
			r.SkipValue()
			continue
		}
		name := internText(r.interner, key)
		value, h := r.readValue(sub)
		object[name.textKey()] = value
		hash += mixHashes(name.hash, h) // whatever the order
	}
	hash += uint64(len(object))
	return r.sharedPart(object, hash), hash
}

func (r reader) readList(set *fields.Set) (any, uint64) {
	hash, begin, sub := uint64(0), len(r.elements), set.SetBelow(fields.Any)
	for r.EnterNested(); r.NextElement(); {
		var value any
		var h uint64
		if sub == nil {
			r.SkipValue()
			value, h = r.shareValue(map[string]any{})
		} else {
			value, h = r.readValue(sub)
		}
		r.elements = append(r.elements, value)
		hash = mixHashes(hash, h)
	}
	list := append(make([]any, 0, len(r.elements)-begin), r.elements[begin:]...)
	clear(r.elements[begin:])
	r.elements = r.elements[:begin]
	hash = mixHashes(^uint64(len(list)), hash)
	return r.sharedPart(list, hash), hash
}
