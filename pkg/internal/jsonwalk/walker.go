// Package jsonwalk reads JSON that is known to be valid, value by value, and skips what the caller does not
// need without looking at more than its quotes and brackets. What is read is what
// k8s.io/apimachinery/pkg/util/json.Unmarshal makes of it: numbers are int64 where they fit, else
// float64.
package jsonwalk

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient accepts what encoding/json does: of fields of one name the last one counts, and bytes
// that are no text are replaced.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// NewDecoder reads one value after another from a stream, each as valid JSON for a Walker.
func NewDecoder(r io.Reader) *jsontext.Decoder { return jsontext.NewDecoder(r, lenient...) }

// CheckJSON says what is wrong with data if that is not exactly one valid value.
func CheckJSON(data []byte) error {
	if !jsontext.Value(data).IsValid(lenient...) {
		return describeMistake(data)
	}
	return nil
}

// describeMistake finds out what is wrong with data.
func describeMistake(data []byte) error {
	d := NewDecoder(bytes.NewReader(data))
	_, err := d.ReadValue()
	if err == nil {
		if _, err = d.ReadToken(); err == io.EOF {
			return nil
		}
	}
	return fmt.Errorf("this is not valid JSON: %w", err)
}

// Walker stands before a value, or in an object or a list before the next entry. What is not read
// must be skipped. The zero value is of no use. It is not safe for concurrent use.
type Walker struct {
	data []byte
	at   int
	err  error // the first
}

// New returns a Walker before the value in data. With data that is not valid it panics or reads
// nonsense; it does not change data.
func New(data []byte) *Walker { return &Walker{data: data} }

// Err is for the first number that was read and is out of range.
func (w *Walker) Err() error { return w.err }

// NextKind returns the first byte of the next value: one of { [ " t f n, or that of a number. At the end
// of an object or a list it is the bracket.
func (w *Walker) NextKind() byte {
	for ; w.at < len(w.data); w.at++ {
		switch c := w.data[w.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
	return 0
}

// EnterNested goes into the object or list that is next.
func (w *Walker) EnterNested() {
	w.NextKind()
	w.at++
}

// NextKey reads the key of the next field of an object. The Walker then is before the field's value.
// At the end of the object it leaves it, and ok is false. key is valid as long as data is, and not
// to be changed.
func (w *Walker) NextKey() (key []byte, ok bool) {
	if w.NextKind() == '}' {
		w.at++
		return nil, false
	}
	return w.ReadText(), true
}

// NextElement reports whether a list has another element, before which the Walker then is. At the end
// of the list it leaves it.
func (w *Walker) NextElement() bool {
	if w.NextKind() == ']' {
		w.at++
		return false
	}
	return true
}

// ReadText reads the string that is next. It is valid as long as data is, and not to be changed.
func (w *Walker) ReadText() []byte {
	w.NextKind()
	begin := w.at + 1
	end := begin + bytes.IndexByte(w.data[begin:], '"')
	if raw := w.data[begin:end]; bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		w.at = end + 1
		return raw
	}
	w.skipText()
	text, _ := jsontext.AppendUnquote(nil, w.data[begin-1:w.at]) // the error is for bytes that are no text
	return text
}

// ReadScalar reads the value that is next, which is a number, true, false or null.
func (w *Walker) ReadScalar() any {
	kind := w.NextKind()
	begin := w.at
	w.skipScalar()
	switch kind {
	case 't', 'f':
		return kind == 't'
	case 'n':
		return nil
	}
	return w.parseNumber(w.data[begin:w.at])
}

func (w *Walker) parseNumber(raw []byte) any {
	text := string(raw)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("reading a number: %w", err)
	}
	return f
}

// SkipValue moves behind the next value and returns it, valid as long as data is.
func (w *Walker) SkipValue() []byte {
	kind := w.NextKind()
	begin := w.at
	switch kind {
	case '"':
		w.skipText()
	case '{', '[':
		w.skipNested()
	default:
		w.skipScalar()
	}
	return w.data[begin:w.at]
}

func (w *Walker) skipNested() {
	for depth := 0; ; {
		switch w.data[w.at] {
		case '"':
			w.skipText()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if w.at++; depth == 0 {
			return
		}
	}
}

// skipText moves behind the string that begins here.
func (w *Walker) skipText() {
	for w.at++; ; w.at++ {
		w.at += bytes.IndexByte(w.data[w.at:], '"')
		escapes := 0
		for w.data[w.at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			w.at++
			return
		}
	}
}

func (w *Walker) skipScalar() {
	for ; w.at < len(w.data); w.at++ {
		switch w.data[w.at] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return
		}
	}
}

// ReadValue reads the value that is next as a whole, as objects, lists and strings of its own. It recurses as
// deep as the value is nested, which valid JSON may be 10,000 times.
func (w *Walker) ReadValue() any {
	switch w.NextKind() {
	case '{':
		object := map[string]any{}
		w.EnterNested()
		for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
			name := string(key)
			object[name] = w.ReadValue()
		}
		return object
	case '[':
		list := []any{}
		for w.EnterNested(); w.NextElement(); {
			list = append(list, w.ReadValue())
		}
		return list
	case '"':
		return string(w.ReadText())
	}
	return w.ReadScalar()
}
