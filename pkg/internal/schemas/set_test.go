package schemas

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

const definition = `
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object, properties: {name: {type: string, maxLength: 10}}}
          spec:
            type: object
            properties:
              size: {type: integer}
              ratio: {type: number, nullable: true}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
              empty: {type: object}
              labels: {type: object, additionalProperties: {type: string}}
              groups: {type: object, additionalProperties: {type: object, properties: {name: {type: string}}}}
              mixed: {type: object, properties: {a: {type: string}}, additionalProperties: true}
              items: {type: array, items: {type: object, properties: {name: {type: string}}}}
              template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}
              one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a], properties: {a: {minLength: 1}}}, {required: [b]}]}
  - name: v2
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v3
`

const document = `{"components": {"schemas": {
  "io.Node": {"type": "object", "properties": {
    "metadata": {"allOf": [{"$ref": "#/components/schemas/io.Meta"}], "default": {}},
    "value": {"type": "string"},
    "next": {"$ref": "#/components/schemas/io.Node"},
    "children": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/io.Node"}], "default": {}}},
    "circle": {"$ref": "#/components/schemas/io.Circle"},
    "lost": {"$ref": "#/components/schemas/io.Lost"},
    "quantities": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/io.Quantity"}}},
    "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Node"}]},
  "io.Meta": {"type": "object", "properties": {"name": {"type": "string"}, "future": {"type": "string"}}},
  "io.Circle": {"$ref": "#/components/schemas/io.Circle"},
  "io.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]}
}}}`

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSet(t *testing.T) {
	definitions, err := FromDefinitions(object(t, definition))
	if err != nil {
		t.Fatal(err)
	}
	published, err := FromOpenAPI(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	set := JoinSets(definitions, published)
	variables := map[string]*cel.Schema{}
	for name, gvk := range map[string]schema.GroupVersionKind{
		"thing": {Group: "example.com", Version: "v1", Kind: "Thing"},
		"open":  {Group: "example.com", Version: "v2", Kind: "Thing"},
		"node":  {Version: "v1", Kind: "Node"},
	} {
		found, ok := set.Schema(gvk)
		if !ok {
			t.Fatalf("no schema of %v", gvk)
		}
		variables[name] = found
	}
	if _, ok := set.Schema(schema.GroupVersionKind{Group: "example.com", Version: "v3", Kind: "Thing"}); ok {
		t.Error("a version without a schema has one")
	}
	env, err := cel.NewTypedEnv(variables)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{ // what is wrong with an expression; "" for nothing
		`thing.spec.size > 1 && thing.apiVersion + thing.kind == ''`:                      "",
		`thing.spec.ratio == 1 || thing.spec.ratio * 2 > 1.5 || thing.spec.ratio == null`: "",
		`thing.spec.port == 80 || thing.spec.port == 'http' || thing.spec.port.x`:         "",
		`thing.spec.free.b.c + thing.spec.empty.a + thing.spec.mixed.b + open.x.y`:        "",
		`thing.spec.labels.app + thing.spec.labels['a/b']`:                                "",
		`thing.spec.groups.all(k, g, g.name == k) && thing.spec.groups.x.name == ''`:      "",
		`thing.spec.items.exists(i, i.name == 'a') && thing.spec.items[0].name != ''`:     "",
		`thing.spec.template.metadata.labels.a + thing.spec.template.spec.a`:              "",
		`thing.metadata.namespace + thing.metadata.ownerReferences[0].uid`:                "",
		`thing.spec.one.a + thing.spec.one.b`:                                             "",
		`node.next.next.children[0].next.value + node.metadata.name`:                      "",
		`node.metadata.labels.a + node.metadata.future + node.metadata.finalizers[0]`:     "",
		`node.circle.x + node.lost.y + node.quantities.cpu`:                               "",

		`thing.spec.sise`:                       `thing.spec has no field "sise"; did you mean "size"?`,
		`thing.spek`:                            `thing has no field "spek"; did you mean "spec"?`,
		`thing.spec.groups.x.nam`:               `thing.spec.groups.x has no field "nam"; did you mean "name"?`,
		`thing.spec.items.map(i, i.nam)`:        `thing.spec.items[] has no field "nam"; did you mean "name"?`,
		`thing.metadata.nme`:                    `thing.metadata has no field "nme"; did you mean "name"?`,
		`thing.spec.template.spek`:              `thing.spec.template has no field "spek"; did you mean "spec"?`,
		`thing.spec.one.c`:                      `thing.spec.one has no field "c"; did you mean "a" or "b"?`,
		`node.next.next.children[0].nxt`:        `node.next.next.children[] has no field "nxt"; did you mean "next"?`,
		`thing.metadata.ownerReferences[0].udi`: `thing.metadata.ownerReferences[] has no field "udi"; did you mean "uid"?`,
		`thing.status.?conditions.orValue([])`:  `thing has no field "status"`,
	}
	for source, want := range cases {
		t.Run(source, func(t *testing.T) {
			_, issues := env.CompileExpr(source)
			switch {
			case want == "" && len(issues) > 0:
				t.Errorf("refused: %v", issues)
			case want != "" && (len(issues) != 1 || issues[0].Message != want):
				t.Errorf("issues %v, want %s", issues, want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, text := range map[string]string{
		"NoKind":     `spec: {group: a, versions: [{name: v1}]}`,
		"NoVersions": `spec: {group: a, names: {kind: B}}`,
		"Versions":   `spec: {group: a, names: {kind: B}, versions: [v1]}`,
		"Schema":     `spec: {group: a, names: {kind: B}, versions: [{name: v1, schema: {openAPIV3Schema: text}}]}`,
		"Group":      `spec: {group: 1, names: {kind: B}}`,
	} {
		o := object(t, text)
		o.SetName("bad")
		if _, err := FromDefinitions(o); err == nil || !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", `{"components": [`, `{"components": {}`, `{"components": {"schemas": {"a": {}}`, `{"paths": {"a": `, `{} {}`, `{} ]`, `{"components"}`} {
		if _, err := FromOpenAPI(strings.NewReader(text)); err == nil {
			t.Errorf("what is no document is read: %s", text)
		}
	}
	for _, text := range []string{"null", "[1]", `{"components": null}`, `{"components": {"schemas": 1, "other": {}}, "paths": {"a": [{}]}} `} {
		if set, err := FromOpenAPI(strings.NewReader(text)); err != nil || len(set.byKind) != 0 {
			t.Errorf("%s has kinds %v, error %v; want none", text, set, err)
		}
	}
	if set, err := FromOpenAPI(strings.NewReader(`{"components": {"schemas": {"a": {"x-kubernetes-group-version-kind": "b"}, "b": null}}}`)); err != nil || len(set.byKind) != 0 {
		t.Errorf("odd components give %v, %v", set, err)
	}
}

// FuzzFromOpenAPI: no document makes reading, or checking against what is read,
// panic or go on for ever; and objects of which nothing is said are open.
func FuzzFromOpenAPI(f *testing.F) {
	f.Add([]byte(document))
	f.Fuzz(func(t *testing.T, document []byte) {
		set, err := FromOpenAPI(bytes.NewReader(document))
		if err != nil {
			return
		}
		for _, found := range set.byKind {
			env, err := cel.NewTypedEnv(map[string]*cel.Schema{"node": found()})
			if err != nil {
				t.Fatal(err)
			}
			if _, issues := env.CompileExpr(`node.metadata.name + node.kind`); len(issues) > 0 {
				t.Fatalf("%s: %v", document, issues)
			}
			env.CompileExpr(`node.next.next.children.map(c, c.next.value)[0].x`)
		}
	})
}
