// Package packed holds JSON-like maps in little memory: as one text, with the parts that other maps
// have as well beside it.
//
// A map of Go takes 336 bytes, whether it has one entry or eight, and the garbage collector walks
// through each of them. An object of a cluster has a dozen that no other has, because a name or a uid is
// deep in them: as text they are a few hundred bytes, which are not looked at.
package packed

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
)

// Map is a map that was packed. It does not change, and is safe for concurrent use. The zero Map is of nil.
type Map struct {
	text string
	// parts are values that text refers to, in their order.
	parts []any
}

// What a value begins with in a text. A map is followed by the number of its entries and by each
// as key and value, a list by the number of its elements and by these. A key, and a string after its mark, is
// twice its length and its bytes; or, if it is among the common words or in the text already, one more than
// twice the length and the place where its bytes begin: in the common words, and behind these in the text.
const (
	markMap    = '{'
	markList   = '['
	markString = '"'
	markInt    = 'i' // a varint
	markFloat  = 'f' // eight bytes, the lowest first
	markTrue   = 't'
	markFalse  = 'F'
	markNil    = 'n'
	markPart   = '@' // the next of the parts
)

// PackMap packs a map, which nobody may change any more: values that isShared names stay what they are.
// isShared is asked about maps and lists that have entries; nil means that none is shared.
func PackMap(content map[string]any, isShared func(value any) bool) Map {
	if content == nil {
		return Map{}
	}
	w := writers.Get().(*writer)
	w.isShared = isShared
	w.writeMap(content)
	packed := Map{text: string(w.text), parts: slices.Clone(w.parts)}
	if len(w.text) <= usualSize {
		clear(w.parts)
		clear(w.places)
		*w = writer{text: w.text[:0], parts: w.parts[:0], places: w.places}
		writers.Put(w)
	}
	return packed
}

// usualSize is the length of the text up to which the writer of it is used again.
const usualSize = 16 << 10

// writers are used again: what they hold is copied.
var writers = sync.Pool{New: func() any { return &writer{places: map[string]int{}} }}

// SizeBytes is how many bytes the map takes, without the parts that others have as well.
func (m Map) SizeBytes() int { return len(m.text) + sizeReference*len(m.parts) }

// sizeReference is what an interface takes.
const sizeReference = 16

// UnpackMap makes a map that is equal to the one that was packed, and shares parts with it: it must not be
// changed. Strings among its values are its own, unless known returns one that is equal to the text that it
// is given; nil means that none is known.
func (m Map) UnpackMap(known func(text string) (value any, ok bool)) map[string]any {
	if m.text == "" {
		return nil
	}
	r := reader{all: m.text, text: m.text, parts: m.parts, known: known}
	content, _ := r.readValue().(map[string]any)
	return content
}

// commonWords are keys and strings that many objects have.
const commonWords = "apiVersion kind metadata name namespace uid resourceVersion generation creationTimestamp deletionTimestamp " +
	"labels annotations finalizers ownerReferences controller blockOwnerDeletion managedFields manager operation fieldsType fieldsV1 " +
	"FieldsV1 Apply Update subresource f:metadata f:labels f:annotations f:ownerReferences f:spec f:status f:data f:type spec status " +
	"data type reason message lastTransitionTime observedGeneration conditions True False Unknown Ready Reconciling Stalled " +
	"Available Progressing replicas readyReplicas availableReplicas updatedReplicas selector matchLabels template " +
	"app.kubernetes.io/name app.kubernetes.io/instance app.kubernetes.io/managed-by " +
	"Permitted Valid ambit.dev/policy ambit.dev/owner-uid ambit.dev/child ambit.dev/generation ambit.dev/fields ambit.dev/children"

// commonPlaces is where each of them begins.
var commonPlaces = func() map[string]int {
	places, begin := map[string]int{}, 0
	for word := range strings.SplitSeq(commonWords, " ") {
		places[word] = begin
		begin += len(word) + 1
	}
	return places
}()

type writer struct {
	text     []byte
	parts    []any
	places   map[string]int // where a key or a string begins, behind the common words
	isShared func(any) bool
}

func (w *writer) writeValue(value any) {
	switch value := value.(type) {
	case map[string]any:
		if value == nil || w.isPart(value, len(value)) {
			w.writePart(value)
			return
		}
		w.writeMap(value)
	case []any:
		if value == nil || w.isPart(value, len(value)) {
			w.writePart(value)
			return
		}
		w.writeCount(markList, len(value))
		for _, element := range value {
			w.writeValue(element)
		}
	case string:
		w.text = append(w.text, markString)
		w.writeText(value)
	case int64:
		w.text = binary.AppendVarint(append(w.text, markInt), value)
	case float64:
		w.text = binary.LittleEndian.AppendUint64(append(w.text, markFloat), math.Float64bits(value))
	case bool:
		mark := byte(markFalse)
		if value {
			mark = markTrue
		}
		w.text = append(w.text, mark)
	case nil:
		w.text = append(w.text, markNil)
	default:
		w.writePart(value)
	}
}

func (w *writer) isPart(value any, entries int) bool {
	return entries > 0 && w.isShared != nil && w.isShared(value)
}

func (w *writer) writePart(value any) {
	w.text = append(w.text, markPart)
	w.parts = append(w.parts, value)
}

func (w *writer) writeMap(content map[string]any) {
	w.writeCount(markMap, len(content))
	for key, value := range content {
		w.writeText(key)
		w.writeValue(value)
	}
}

// shortText is the length below which a text is not looked for: saying where it is takes as much.
const shortText = 4

func (w *writer) writeText(text string) {
	length := uint64(len(text)) * 2
	place, ok := commonPlaces[text]
	if !ok {
		place, ok = w.places[text]
	}
	if ok {
		w.text = binary.AppendUvarint(binary.AppendUvarint(w.text, length+1), uint64(place))
		return
	}
	w.text = binary.AppendUvarint(w.text, length)
	if len(text) >= shortText {
		w.places[text] = len(commonWords) + len(w.text)
	}
	w.text = append(w.text, text...)
}

func (w *writer) writeCount(mark byte, count int) {
	w.text = binary.AppendUvarint(append(w.text, mark), uint64(count))
}

// reader reads what a writer wrote, and trusts that.
type reader struct {
	all   string
	text  string // the rest of it
	parts []any
	known func(string) (any, bool)
}

func (r *reader) readValue() any {
	switch mark := r.readBytes(1)[0]; mark {
	case markMap:
		return r.readMap()
	case markList:
		list := make([]any, r.readCount())
		for i := range list {
			list[i] = r.readValue()
		}
		return list
	case markString:
		return r.readString()
	case markInt:
		return r.readInt()
	case markFloat:
		return math.Float64frombits(binary.LittleEndian.Uint64([]byte(r.readBytes(8))))
	case markTrue, markFalse:
		return mark == markTrue
	case markNil:
		return nil
	}
	part := r.parts[0]
	r.parts = r.parts[1:]
	return part
}

func (r *reader) readMap() map[string]any {
	count := r.readCount()
	content := make(map[string]any, count)
	for range count {
		key := r.readText() // of the text itself: keys are not kept without their map
		content[key] = r.readValue()
	}
	return content
}

func (r *reader) readString() any {
	text := r.readText()
	if r.known != nil {
		if value, ok := r.known(text); ok {
			return value
		}
	}
	return strings.Clone(text) // whoever keeps it does not keep the map
}

func (r *reader) readText() string {
	length := r.readCount()
	if length%2 == 0 {
		return r.readBytes(length / 2)
	}
	place, from := r.readCount(), commonWords
	if place >= len(commonWords) {
		place, from = place-len(commonWords), r.all
	}
	return from[place : place+length/2]
}

func (r *reader) readBytes(count int) string {
	read := r.text[:count]
	r.text = r.text[count:]
	return read
}

func (r *reader) readCount() int { return int(r.readUint()) }

// readInt reads what binary.AppendVarint wrote.
func (r *reader) readInt() int64 {
	u := r.readUint()
	return int64(u>>1) ^ -int64(u&1)
}

// readUint reads what binary.AppendUvarint wrote.
func (r *reader) readUint() (value uint64) {
	for shift := 0; ; shift += 7 {
		b := r.readBytes(1)[0]
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}
