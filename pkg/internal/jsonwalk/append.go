package jsonwalk

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// usualSize is, in bytes, what EncodeJSON sets aside at first: a Deployment with one container takes 1,200, a status with
// five conditions 1,100.
const usualSize = 1536

// EncodeJSON returns the JSON of a value, as AppendJSON appends it, for a request.
func EncodeJSON(value any) ([]byte, error) { return AppendJSON(make([]byte, 0, usualSize), value) }

// AppendJSON appends the JSON of a value, which is made of maps by strings, lists, strings, numbers, bools and
// nil, or what json.Marshal takes. It means what that of json.Marshal means; the fields of an object are in
// any order, and <, > and & are not escaped.
func AppendJSON(to []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case map[string]any:
		return appendObject(to, value)
	case []any:
		return appendList(to, value)
	case string:
		to, _ = jsontext.AppendQuote(to, value) // the error is for bytes that are no text, which are replaced
		return to, nil
	case int64:
		return strconv.AppendInt(to, value, 10), nil
	case bool:
		return strconv.AppendBool(to, value), nil
	case nil:
		return append(to, "null"...), nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding a value of type %T: %w", value, err)
	}
	return append(to, text...), nil
}

func appendObject(to []byte, object map[string]any) (_ []byte, err error) {
	if object == nil {
		return append(to, "null"...), nil
	}
	to = append(to, '{')
	for key, value := range object {
		if to[len(to)-1] != '{' {
			to = append(to, ',')
		}
		to, _ = jsontext.AppendQuote(to, key)
		if to, err = AppendJSON(append(to, ':'), value); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

func appendList(to []byte, list []any) (_ []byte, err error) {
	if list == nil {
		return append(to, "null"...), nil
	}
	to = append(to, '[')
	for i, value := range list {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = AppendJSON(to, value); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}
