// Package secretview says what may be known of a Secret that has values which Ambit made, and takes all
// else away before the Secret is kept anywhere.
//
// The Secret says itself which values were made: the annotation v1alpha1.AnnotationMade, which is written by
// the write that makes them. On arrival (package informer/projection) and in every answer of a write (package
// internal/apply) such a value is replaced by a Fact: its length, and of a private key which public key
// belongs to it. A value that is public by what it is, certificates or a public key, stays. That is enough to
// say whether each value is as its recipe wants it (package recipe), so that the values themselves are read
// only by the write that makes new ones.
//
// If somebody takes the annotation away, the values of made keys are not kept at all where only their child
// needs the Secret: whoever needs one asks for the keys of its template and for public ones.
//
// What a Secret holds may be anything: what is parsed is bounded in length and in number, and nothing here
// fails but by saying less.
package secretview

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Field is where a kept Secret has what is known of its private values, beside metadata and data. No
// Secret of the API server has such a field.
const Field = v1alpha1.AnnotationMade

// View is what may be known of a Secret.
type View struct {
	// Public are the values that are nobody's secret: certificates and public keys.
	Public map[string][]byte
	// Facts are what is known of each other value.
	Facts map[string]Fact
	// Record is what Ambit has noted of the values it made; nil if there is nothing, or it cannot be read.
	Record Record
	// Rotate is the text of v1alpha1.AnnotationRotate.
	Rotate string
	// Created is when the Secret was made; zero if that is not known.
	Created time.Time
}

// ReadKept is the View of a Secret as ReduceData has left it.
func ReadKept(secret map[string]any) View {
	v := newView(secret)
	facts, _ := secret[Field].(map[string]any)
	for key, kept := range facts {
		v.Facts[key] = readFact(kept)
	}
	for key, value := range decodeData(secret) {
		if _, private := v.Facts[key]; !private && isPublic(value) {
			v.Public[key] = value
		}
	}
	return v
}

// ReadWhole is the View of a Secret with all its values, whatever its record says. The values that are not
// public are the second result: whoever has them is about to write.
func ReadWhole(secret map[string]any) (View, map[string][]byte) {
	v, private := newView(secret), map[string][]byte{}
	for key, value := range decodeData(secret) {
		if isPublic(value) {
			v.Public[key] = value
			continue
		}
		v.Facts[key] = DescribeValue(value)
		private[key] = value
	}
	return v, private
}

func newView(secret map[string]any) View {
	object := unstructured.Unstructured{Object: secret}
	annotations := object.GetAnnotations()
	record, _ := ParseRecord(annotations[v1alpha1.AnnotationMade])
	return View{
		Public: map[string][]byte{}, Facts: map[string]Fact{}, Record: record,
		Rotate: annotations[v1alpha1.AnnotationRotate], Created: object.GetCreationTimestamp().UTC(),
	}
}

// SetValue notes a value that is about to be written, and reports whether it is public.
func (v View) SetValue(key string, value []byte) bool {
	v.RemoveValue(key)
	if isPublic(value) {
		v.Public[key] = value
		return true
	}
	v.Facts[key] = DescribeValue(value)
	return false
}

// RemoveValue notes that a value is about to be removed.
func (v View) RemoveValue(key string) {
	delete(v.Public, key)
	delete(v.Facts, key)
}

// Clone returns a View with maps of its own.
func (v View) Clone() View {
	v.Public, v.Facts, v.Record = maps.Clone(v.Public), maps.Clone(v.Facts), maps.Clone(v.Record)
	return v
}

// decodeData returns the values of a Secret that are texts of base64.
func decodeData(secret map[string]any) map[string][]byte {
	data, _ := secret["data"].(map[string]any)
	values := make(map[string][]byte, len(data))
	for key, value := range data {
		text, _ := value.(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			values[key] = decoded
		}
	}
	return values
}

// ReduceData returns what is kept of a Secret's data, and what its Field then says, if its annotation says that
// it has made values; else data itself and nil. A record that cannot be read could name any key, so that all
// values are private which are not public by what they are. Data is not changed.
func ReduceData(data map[string]any, annotation string) (kept, facts map[string]any) {
	if annotation == "" {
		return data, nil
	}
	record, readable := ParseRecord(annotation)
	kept, facts = map[string]any{}, map[string]any{}
	for key, value := range data {
		if _, made := record[key]; readable && !made {
			kept[key] = value
			continue
		}
		text, isText := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		switch {
		case !isText:
		case err == nil && isPublic(decoded):
			kept[key] = value
		case err == nil:
			facts[key] = DescribeValue(decoded).keptForm()
		}
		clear(decoded)
	}
	return kept, facts
}

// ReduceObject is ReduceData for an object as a whole, which stays as it is. Of what is no Secret, or has no
// made values, it returns the object itself. What says no kind is a Secret: it is one of a list.
func ReduceObject(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil || object.GetKind() != "" && (object.GetKind() != "Secret" || object.GetAPIVersion() != "v1") {
		return object
	}
	if _, reduced := object.Object[Field]; reduced {
		return object
	}
	data, _ := object.Object["data"].(map[string]any)
	kept, facts := ReduceData(data, object.GetAnnotations()[v1alpha1.AnnotationMade])
	if facts == nil {
		return object
	}
	reduced := maps.Clone(object.Object)
	reduced["data"], reduced[Field] = kept, facts
	delete(reduced, "stringData")
	return &unstructured.Unstructured{Object: reduced}
}

// AssumeValid returns a reduced Secret with facts of values that are taken for valid, as whoever has no values, but their text
// forms, means them.
func AssumeValid(secret *unstructured.Unstructured, keys []string) *unstructured.Unstructured {
	if len(keys) == 0 {
		return secret
	}
	facts, _ := secret.Object[Field].(map[string]any)
	if facts = maps.Clone(facts); facts == nil {
		facts = map[string]any{}
	}
	for _, key := range keys {
		facts[key] = Fact{Length: AssumedLength}.keptForm()
	}
	assumed := maps.Clone(secret.Object)
	assumed[Field] = facts
	return &unstructured.Unstructured{Object: assumed}
}

// AssumedLength is the length of a value that is taken for valid.
const AssumedLength = -1

// SortedKeys returns the keys of a map of values in their order.
func SortedKeys[V any](values map[string]V) []string { return slices.Sorted(maps.Keys(values)) }

// Record is the annotation v1alpha1.AnnotationMade: what Ambit has made, by key.
type Record map[string]Entry

// Entry is what is noted of one made value.
type Entry struct {
	// At is when the value was made, in whole seconds.
	At time.Time `json:"at"`
	// Rotate is the v1alpha1.AnnotationRotate that was there then.
	Rotate string `json:"rotate,omitempty"`
}

// What a record may have. One that has more was not written by Ambit.
const (
	mostRecordBytes = 16 << 10
	mostRecordKeys  = 64
)

// ParseRecord reads a record, and reports whether it is one that Ambit can have written. No text is an empty one.
func ParseRecord(text string) (Record, bool) {
	if text == "" {
		return nil, true
	}
	var record Record
	if len(text) > mostRecordBytes || json.Unmarshal([]byte(text), &record) != nil || len(record) > mostRecordKeys {
		return nil, false
	}
	return record, record != nil
}

// AnnotationText is the record as it stands on the Secret.
func (r Record) AnnotationText() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding the record of made values: %w", err)
	}
	return string(text), nil
}
