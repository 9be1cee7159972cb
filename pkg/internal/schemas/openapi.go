package schemas

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// pieceSize is how many bytes of a document are read at a time: of what comes by HTTP/2 the receipt of each
// piece is reported.
const pieceSize = 32 << 10

// readComponents returns the text of each of an OpenAPI document's components.schemas, without descriptions, by its
// name. The document is read once, to its end, and is not held: an API server's has megabytes.
func readComponents(document io.Reader) (map[string][]byte, error) {
	d := jsonwalk.NewDecoder(bufio.NewReaderSize(document, pieceSize))
	var scratch []byte
	components := map[string][]byte{}
	err := eachField(d, func(name string) error {
		if name != "components" {
			return d.SkipValue()
		}
		return eachField(d, func(name string) error {
			if name != "schemas" {
				return d.SkipValue()
			}
			return eachField(d, func(name string) error {
				value, err := d.ReadValue()
				if err == nil {
					scratch = appendUndescribed(scratch[:0], jsonwalk.New(value))
					components[name] = bytes.Clone(scratch)
				}
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	switch _, err := d.ReadToken(); {
	case err == nil:
		return nil, errors.New("there is more than one value")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return components, nil
}

// appendUndescribed appends the value that is next, without the texts that describe it: they are most of it.
func appendUndescribed(to []byte, w *jsonwalk.Walker) []byte {
	switch w.NextKind() {
	case '{':
		to = append(to, '{')
		w.EnterNested()
		for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
			if string(key) == "description" && w.NextKind() == '"' {
				w.SkipValue()
				continue
			}
			to, _ = jsontext.AppendQuote(to, key) // the error is for bytes that are no text, which are replaced
			to = append(appendUndescribed(append(to, ':'), w), ',')
		}
		return append(bytes.TrimSuffix(to, []byte{','}), '}')
	case '[':
		to = append(to, '[')
		for w.EnterNested(); w.NextElement(); {
			to = append(appendUndescribed(to, w), ',')
		}
		return append(bytes.TrimSuffix(to, []byte{','}), ']')
	}
	return append(to, w.SkipValue()...)
}

// eachField calls read for each field of the object that is next, to read its value or skip it. A value
// of another kind has no fields, and is skipped.
func eachField(d *jsontext.Decoder, read func(name string) error) error {
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := read(name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken() // the end, or what is wrong
	return err
}
