package syntax

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
)

// policyDecoder decodes nodes into values of the API types by their json tags, strictly,
// and goes on after each mistake. What is wrong is left at its zero value.
type policyDecoder struct{ *Diagnostics }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// DecodePolicy decodes a document as far as it can be, strictly, and adds each mistake to found: what
// is wrong is left at its zero value.
func DecodePolicy(document *Document, found *Diagnostics) *v1alpha1.ReconcilePolicy {
	out := &v1alpha1.ReconcilePolicy{}
	policyDecoder{found}.decodeStruct(document.root, reflect.ValueOf(out).Elem(), "")
	return out
}

func (d policyDecoder) decodeValue(n *yaml.Node, out reflect.Value, path string) {
	if n.Kind == yaml.AliasNode || hasOwnTag(n) {
		return // said by lint
	}
	if IsNull(n) {
		d.refuseNull(n, path)
		return
	}
	if out.Kind() == reflect.Pointer {
		out.Set(reflect.New(out.Type().Elem()))
		out = out.Elem()
	}
	switch {
	case out.Type() == reflect.TypeFor[runtime.RawExtension]():
		d.isMapping(n, path)
	case reflect.PointerTo(out.Type()).Implements(unmarshaler):
		// times and the like in metadata: the API server's business
	default:
		d.decodeKind(n, out, path)
	}
}

func (d policyDecoder) decodeKind(n *yaml.Node, out reflect.Value, path string) {
	switch out.Kind() {
	case reflect.Struct:
		d.decodeStruct(n, out, path)
	case reflect.Slice:
		d.decodeList(n, out, path)
	case reflect.Map:
		d.decodeStringMap(n, out, path)
	case reflect.String:
		d.decodeText(n, out, path)
	case reflect.Bool:
		d.decodeBool(n, out, path)
	case reflect.Float64:
		d.decodeFraction(n, out, path)
	default:
		d.decodeNumber(n, out, path)
	}
}

// refuseNull is legal where the API server writes it itself.
func (d policyDecoder) refuseNull(n *yaml.Node, path string) {
	if strings.HasPrefix(path, "spec") || path == "metadata" || path == "metadata.name" {
		d.At(n, "%s has no value: write one, or leave the field out", path)
	}
}

func (d policyDecoder) isMapping(n *yaml.Node, path string) bool {
	if n.Kind == yaml.MappingNode {
		return true
	}
	d.At(n, "%s must be a mapping, is %s", orPolicy(path), DescribeNode(n))
	return false
}

func orPolicy(path string) string {
	if path == "" {
		return "the policy"
	}
	return path
}

func (d policyDecoder) decodeStruct(n *yaml.Node, out reflect.Value, path string) {
	if !d.isMapping(n, path) {
		return
	}
	known := jsonFields(out.Type())
	EachPair(n, func(key, value *yaml.Node) {
		f, ok := known.findField(key.Value)
		if !ok {
			d.At(key, "unknown field %q in %s%s", key.Value, orPolicy(path), spelling.Suggest(key.Value, known.fieldNames()))
			return
		}
		d.decodeValue(value, out.FieldByIndex(f.index), JoinPath(path, key.Value))
	})
	for _, f := range known { // nobody has to write a status
		if f.required && !strings.HasPrefix(path, "status") && LookupNode(n, f.name) == nil {
			d.At(n, "%s is required", JoinPath(path, f.name))
		}
	}
}

func (d policyDecoder) decodeList(n *yaml.Node, out reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.At(n, "%s must be a list, is %s", path, DescribeNode(n))
		return
	}
	if most := mostItems(out.Type(), path); len(n.Content) > most {
		d.At(n, "%s has %d items, more than %d", path, len(n.Content), most)
	}
	out.Set(reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		d.decodeValue(c, out.Index(i), JoinPath(path, i))
	}
}

// decodeStringMap decodes a map of strings: labels, annotations and the like.
func (d policyDecoder) decodeStringMap(n *yaml.Node, out reflect.Value, path string) {
	if !d.isMapping(n, path) {
		return
	}
	out.Set(reflect.MakeMap(out.Type()))
	EachPair(n, func(key, value *yaml.Node) {
		if value.Kind != yaml.ScalarNode || value.Tag != "!!str" {
			d.At(value, "%s must be a string, is %s%s", JoinPath(path, key.Value), DescribeNode(value), QuoteHint(value))
			return
		}
		out.SetMapIndex(reflect.ValueOf(key.Value), reflect.ValueOf(value.Value))
	})
}

func (d policyDecoder) decodeText(n *yaml.Node, out reflect.Value, path string) {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
		d.At(n, "%s must be a string, is %s%s", path, DescribeNode(n), QuoteHint(n))
		return
	case n.Value == "" && strings.HasPrefix(path, "spec"):
		d.At(n, "%s is empty: write something, or leave the field out", path)
		return
	case len(n.Value) > mostBytes:
		d.At(n, "%s is longer than %d bytes", path, mostBytes)
		return
	}
	if allowed := allowedValues(out.Type()); allowed != nil && !slices.Contains(allowed, n.Value) {
		d.At(n, "%s must be one of %s; is %q%s", path, strings.Join(allowed, ", "), ShortenText(n.Value), spelling.Suggest(n.Value, allowed))
		return
	}
	out.SetString(n.Value)
}

func (d policyDecoder) decodeBool(n *yaml.Node, out reflect.Value, path string) {
	var b bool
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&b) != nil {
		d.At(n, "%s must be true or false, is %s", path, DescribeNode(n))
		return
	}
	out.SetBool(b)
}

// decodeFraction decodes a part of a whole, as in 0.66.
func (d policyDecoder) decodeFraction(n *yaml.Node, out reflect.Value, path string) {
	var f float64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!float" || n.Decode(&f) != nil || !(f >= 0.1 && f <= 0.9) {
		d.At(n, "%s must be a number between 0.1 and 0.9, is %s", path, DescribeNode(n))
		return
	}
	out.SetFloat(f)
}

// decodeNumber decodes a whole number.
func (d policyDecoder) decodeNumber(n *yaml.Node, out reflect.Value, path string) {
	var i int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" {
		d.At(n, "%s must be a whole number, is %s", path, DescribeNode(n))
		return
	}
	if most, limited := mostNumber(path); limited && (n.Decode(&i) != nil || i < 0 || i > most) {
		d.At(n, "%s must be between 0 and %d, is %s", path, most, DescribeNode(n))
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

func (l jsonFieldList) findField(name string) (jsonField, bool) {
	for _, f := range l {
		if f.name == name {
			return f, true
		}
	}
	return jsonField{}, false
}

func (l jsonFieldList) fieldNames() []string {
	out := make([]string, len(l))
	for i, f := range l {
		out[i] = f.name
	}
	return out
}

// mostBytes is the longest string, as in the schema of the API.
const mostBytes = 4096

// mostItems is the longest list of a type or at a path, as in the schema of the API.
func mostItems(t reflect.Type, path string) int {
	switch {
	case strings.HasSuffix(path, ".readyWhen"), strings.HasSuffix(path, ".make"):
		return 16
	case strings.HasSuffix(path, ".usages"):
		return 2
	case t == reflect.TypeFor[[]v1alpha1.Watch](), t == reflect.TypeFor[[]v1alpha1.Condition](),
		t == reflect.TypeFor[[]v1alpha1.Ensured]():
		return 32
	case t == reflect.TypeFor[[]v1alpha1.Variable](), t == reflect.TypeFor[[]v1alpha1.Child](), strings.HasSuffix(path, ".dependsOn"),
		strings.HasSuffix(path, ".dnsNames"), strings.HasSuffix(path, ".ipAddresses"):
		return 64
	default:
		return 1024
	}
}

// mostNumber is the largest number at a path, as in the schema of the API. Where
// there is none, nothing is compiled from the number.
func mostNumber(path string) (most int64, limited bool) {
	if strings.HasPrefix(path, "spec.children[") && strings.HasSuffix(path, ".keep") {
		return 1000, true
	}
	if strings.HasPrefix(path, "spec.children[") && strings.HasSuffix(path, ".length") {
		return 4096, true
	}
	return 0, false
}

// allowedValues returns the legal values of a string type; nil for any.
func allowedValues(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[v1alpha1.InformerMode]():
		return []string{"Auto", "Owner", "Namespace", "Cluster"}
	case reflect.TypeFor[v1alpha1.ApplyMode]():
		return []string{"Apply", "Create", "Recreate"}
	case reflect.TypeFor[v1alpha1.ExistingMode]():
		return []string{"Refuse", "Adopt", "Merge"}
	case reflect.TypeFor[v1alpha1.DeleteMode]():
		return []string{"Delete", "Orphan"}
	case reflect.TypeFor[v1alpha1.UpdateMode]():
		return []string{"Parallel", "OneByOne"}
	case reflect.TypeFor[v1alpha1.DeletionOrder]():
		return []string{"Background", "Ordered"}
	case reflect.TypeFor[v1alpha1.CharacterSet]():
		return []string{"alphanumeric", "digits", "hex", "lowercase", "symbols"}
	case reflect.TypeFor[v1alpha1.KeyFormat]():
		return []string{"PEM", "SSH"}
	case reflect.TypeFor[v1alpha1.KeyAlgorithm]():
		return []string{"ECDSA-P256", "ECDSA-P384", "Ed25519", "RSA-2048", "RSA-3072", "RSA-4096"}
	case reflect.TypeFor[v1alpha1.CertificateUsage]():
		return []string{"server", "client"}
	case reflect.TypeFor[metav1.LabelSelectorOperator]():
		return []string{"In", "NotIn", "Exists", "DoesNotExist"}
	default:
		return nil
	}
}
