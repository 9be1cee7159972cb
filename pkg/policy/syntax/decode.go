package syntax

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
)

// shape decodes nodes into values of the API types by their json tags, strictly,
// and goes on after each mistake. What is wrong is left at its zero value.
type shape struct{ *Diagnostics }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// DecodePolicy decodes d as far as it can be, strictly, and adds each mistake to found: what
// is wrong is left at its zero value.
func DecodePolicy(d *Document, found *Diagnostics) *v1alpha1.ReconcilePolicy {
	out := &v1alpha1.ReconcilePolicy{}
	shape{found}.structure(d.root, reflect.ValueOf(out).Elem(), "")
	return out
}

func (s shape) value(n *yaml.Node, out reflect.Value, path string) {
	if n.Kind == yaml.AliasNode || hasOwnTag(n) {
		return // said by lint
	}
	if IsNull(n) {
		s.null(n, path)
		return
	}
	if out.Kind() == reflect.Pointer {
		out.Set(reflect.New(out.Type().Elem()))
		out = out.Elem()
	}
	switch {
	case out.Type() == reflect.TypeFor[runtime.RawExtension]():
		s.mapping(n, path)
	case reflect.PointerTo(out.Type()).Implements(unmarshaler):
		// times and the like in metadata: the API server's business
	default:
		s.kind(n, out, path)
	}
}

func (s shape) kind(n *yaml.Node, out reflect.Value, path string) {
	switch out.Kind() {
	case reflect.Struct:
		s.structure(n, out, path)
	case reflect.Slice:
		s.list(n, out, path)
	case reflect.Map:
		s.strings(n, out, path)
	case reflect.String:
		s.text(n, out, path)
	case reflect.Bool:
		s.boolean(n, out, path)
	default:
		s.number(n, out, path)
	}
}

// null is legal where the API server writes it itself.
func (s shape) null(n *yaml.Node, path string) {
	if strings.HasPrefix(path, "spec") || path == "metadata" || path == "metadata.name" {
		s.At(n, "%s has no value: write one, or leave the field out", path)
	}
}

func (s shape) mapping(n *yaml.Node, path string) bool {
	if n.Kind == yaml.MappingNode {
		return true
	}
	s.At(n, "%s must be a mapping, is %s", orPolicy(path), Describe(n))
	return false
}

func orPolicy(path string) string {
	if path == "" {
		return "the policy"
	}
	return path
}

func (s shape) structure(n *yaml.Node, out reflect.Value, path string) {
	if !s.mapping(n, path) {
		return
	}
	known := jsonFields(out.Type())
	EachPair(n, func(key, value *yaml.Node) {
		f, ok := known.named(key.Value)
		if !ok {
			s.At(key, "unknown field %q in %s%s", key.Value, orPolicy(path), spelling.Suggest(key.Value, known.names()))
			return
		}
		s.value(value, out.FieldByIndex(f.index), JoinPath(path, key.Value))
	})
	for _, f := range known { // nobody has to write a status
		if f.required && !strings.HasPrefix(path, "status") && Lookup(n, f.name) == nil {
			s.At(n, "%s is required", JoinPath(path, f.name))
		}
	}
}

func (s shape) list(n *yaml.Node, out reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		s.At(n, "%s must be a list, is %s", path, Describe(n))
		return
	}
	if most := mostItems(out.Type(), path); len(n.Content) > most {
		s.At(n, "%s has %d items, more than %d", path, len(n.Content), most)
	}
	out.Set(reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		s.value(c, out.Index(i), JoinPath(path, i))
	}
}

// strings decodes a map of strings: labels, annotations and the like.
func (s shape) strings(n *yaml.Node, out reflect.Value, path string) {
	if !s.mapping(n, path) {
		return
	}
	out.Set(reflect.MakeMap(out.Type()))
	EachPair(n, func(key, value *yaml.Node) {
		if value.Kind != yaml.ScalarNode || value.Tag != "!!str" {
			s.At(value, "%s must be a string, is %s%s", JoinPath(path, key.Value), Describe(value), QuoteHint(value))
			return
		}
		out.SetMapIndex(reflect.ValueOf(key.Value), reflect.ValueOf(value.Value))
	})
}

func (s shape) text(n *yaml.Node, out reflect.Value, path string) {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
		s.At(n, "%s must be a string, is %s%s", path, Describe(n), QuoteHint(n))
		return
	case n.Value == "" && strings.HasPrefix(path, "spec"):
		s.At(n, "%s is empty: write something, or leave the field out", path)
		return
	case len(n.Value) > mostBytes:
		s.At(n, "%s is longer than %d bytes", path, mostBytes)
		return
	}
	if allowed := enum(out.Type()); allowed != nil && !slices.Contains(allowed, n.Value) {
		s.At(n, "%s must be one of %s; is %q%s", path, strings.Join(allowed, ", "), Shorten(n.Value), spelling.Suggest(n.Value, allowed))
		return
	}
	out.SetString(n.Value)
}

func (s shape) boolean(n *yaml.Node, out reflect.Value, path string) {
	var b bool
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&b) != nil {
		s.At(n, "%s must be true or false, is %s", path, Describe(n))
		return
	}
	out.SetBool(b)
}

// number decodes a whole number.
func (s shape) number(n *yaml.Node, out reflect.Value, path string) {
	var i int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" {
		s.At(n, "%s must be a whole number, is %s", path, Describe(n))
		return
	}
	if most, limited := mostNumber(path); limited && (n.Decode(&i) != nil || i < 0 || i > most) {
		s.At(n, "%s must be between 0 and %d, is %s", path, most, Describe(n))
		return
	}
	if out.CanInt() {
		out.SetInt(i)
	}
}

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

func (l jsonFieldList) named(name string) (jsonField, bool) {
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
