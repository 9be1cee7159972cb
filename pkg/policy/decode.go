package policy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// shape decodes nodes into values of the API types by their json tags, strictly,
// and goes on after each mistake. What is wrong is left at its zero value.
type shape struct{ *findings }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// decodePolicy decodes d as far as it can be.
func decodePolicy(d *Document, found *findings) *v1alpha1.ReconcilePolicy {
	out := &v1alpha1.ReconcilePolicy{}
	shape{found}.structure(d.root, reflect.ValueOf(out).Elem(), "")
	return out
}

func (s shape) value(n *yaml.Node, out reflect.Value, path string) {
	if n.Kind == yaml.AliasNode || hasOwnTag(n) {
		return // said by lint
	}
	if isNull(n) {
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

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// null is legal where the API server writes it itself.
func (s shape) null(n *yaml.Node, path string) {
	if strings.HasPrefix(path, "spec") || path == "metadata" || path == "metadata.name" {
		s.at(n, "%s has no value: write one, or leave the field out", path)
	}
}

func (s shape) mapping(n *yaml.Node, path string) bool {
	if n.Kind == yaml.MappingNode {
		return true
	}
	s.at(n, "%s must be a mapping, is %s", orPolicy(path), describe(n))
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
	pairs(n, func(key, value *yaml.Node) {
		f, ok := known.find(key.Value)
		if !ok {
			s.at(key, "unknown field %q in %s%s", key.Value, orPolicy(path), suggest(key.Value, known.names()))
			return
		}
		s.value(value, out.FieldByIndex(f.index), join(path, key.Value))
	})
	for _, f := range known { // nobody has to write a status
		if f.required && !strings.HasPrefix(path, "status") && lookup(n, f.name) == nil {
			s.at(n, "%s is required", join(path, f.name))
		}
	}
}

func (s shape) list(n *yaml.Node, out reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		s.at(n, "%s must be a list, is %s", path, describe(n))
		return
	}
	if most := mostItems(out.Type(), path); len(n.Content) > most {
		s.at(n, "%s has %d items, more than %d", path, len(n.Content), most)
	}
	out.Set(reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		s.value(c, out.Index(i), join(path, i))
	}
}

// strings decodes a map of strings: labels, annotations and the like.
func (s shape) strings(n *yaml.Node, out reflect.Value, path string) {
	if !s.mapping(n, path) {
		return
	}
	out.Set(reflect.MakeMap(out.Type()))
	pairs(n, func(key, value *yaml.Node) {
		if value.Kind != yaml.ScalarNode || value.Tag != "!!str" {
			s.at(value, "%s must be a string, is %s%s", join(path, key.Value), describe(value), quoteHint(value))
			return
		}
		out.SetMapIndex(reflect.ValueOf(key.Value), reflect.ValueOf(value.Value))
	})
}

func (s shape) text(n *yaml.Node, out reflect.Value, path string) {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
		s.at(n, "%s must be a string, is %s%s", path, describe(n), quoteHint(n))
		return
	case n.Value == "" && strings.HasPrefix(path, "spec"):
		s.at(n, "%s is empty: write something, or leave the field out", path)
		return
	case len(n.Value) > mostBytes:
		s.at(n, "%s is longer than %d bytes", path, mostBytes)
		return
	}
	if allowed := enum(out.Type()); allowed != nil && !slices.Contains(allowed, n.Value) {
		s.at(n, "%s must be one of %s; is %q%s", path, strings.Join(allowed, ", "), shorten(n.Value), suggest(n.Value, allowed))
		return
	}
	out.SetString(n.Value)
}

func (s shape) boolean(n *yaml.Node, out reflect.Value, path string) {
	var b bool
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&b) != nil {
		s.at(n, "%s must be true or false, is %s", path, describe(n))
		return
	}
	out.SetBool(b)
}

// number decodes a whole number.
func (s shape) number(n *yaml.Node, out reflect.Value, path string) {
	var i int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" {
		s.at(n, "%s must be a whole number, is %s", path, describe(n))
		return
	}
	if most, limited := mostNumber(path); limited && (n.Decode(&i) != nil || i < 0 || i > most) {
		s.at(n, "%s must be between 0 and %d, is %s", path, most, describe(n))
		return
	}
	if out.CanInt() {
		out.SetInt(i)
	}
}
