package schemas

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// readComponents returns the text of each of an OpenAPI document's components.schemas, by its name. The
// document is read once, to its end, and is not held: an API server's has megabytes.
func readComponents(document io.Reader) (map[string][]byte, error) {
	d := jsonwalk.NewDecoder(document)
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
				components[name] = bytes.Clone(value)
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
