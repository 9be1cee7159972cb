package policy

import (
	"reflect"
	"strings"
)

// jsonField is one field of a struct as JSON has it.
type jsonField struct {
	name     string
	index    []int
	required bool
}

type jsonFieldList []jsonField

// jsonFields returns the fields of t in their order, those of inlined structs
// included. A field that is never omitted is required.
func jsonFields(t reflect.Type) jsonFieldList {
	var out jsonFieldList
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			required := !strings.Contains(options, "omit")
			out = append(out, jsonField{name: name, index: f.Index, required: required})
			continue
		}
		for _, inner := range jsonFields(f.Type) {
			inner.index = append([]int{i}, inner.index...)
			out = append(out, inner)
		}
	}
	return out
}

func (l jsonFieldList) find(name string) (jsonField, bool) {
	for _, f := range l {
		if f.name == name {
			return f, true
		}
	}
	return jsonField{}, false
}

func (l jsonFieldList) names() []string {
	out := make([]string, len(l))
	for i, f := range l {
		out[i] = f.name
	}
	return out
}
