package cel

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/test/raced"
)

// thing is the schema of sample().
func thing() *Schema {
	is := func(s *Schema) func() *Schema { return func() *Schema { return s } }
	item := ObjectOf(map[string]func() *Schema{"name": is(nil), "port": is(nil)})
	var node *Schema
	node = ObjectOf(map[string]func() *Schema{"value": is(nil), "next": func() *Schema { return node }})
	return ObjectOf(map[string]func() *Schema{
		"apiVersion": is(nil), "kind": is(nil),
		"metadata": is(ObjectOf(map[string]func() *Schema{"name": is(nil), "namespace": is(nil), "labels": is(LazyMapOf(is(nil)))})),
		"spec": is(ObjectOf(map[string]func() *Schema{
			"size": is(nil), "name": is(nil), "list": is(ListOf(item)), "any": is(nil), "node": is(node),
			"map": is(LazyMapOf(is(item))),
		})),
	})
}

func typedEnv(t testing.TB) *Env {
	t.Helper()
	env, err := NewTypedEnv(map[string]*Schema{"owner": thing(), "things": ListOf(thing()), "any": nil, ReadyVar: nil})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestUnknownFields(t *testing.T) {
	cases := map[string]struct {
		reason, source string
		want           []Issue
	}{
		"Slip":         {reason: "the nearest name is said", source: `owner.spec.sise > 1`, want: []Issue{{11, `owner.spec has no field "sise"; did you mean "size"?`}}},
		"Far":          {reason: "no name is near", source: `owner.spec.replicas`, want: []Issue{{11, `owner.spec has no field "replicas"`}}},
		"Two":          {reason: "all are found", source: `owner.sepc.size + owner.metadata.nam`, want: []Issue{{6, `owner has no field "sepc"; did you mean "spec"?`}, {33, `owner.metadata has no field "nam"; did you mean "name"?`}}},
		"Element":      {reason: "an element of a list", source: `owner.spec.list[0].nme`, want: []Issue{{19, `owner.spec.list[] has no field "nme"; did you mean "name"?`}}},
		"MapValue":     {reason: "a value of a map", source: `owner.spec.map['k'].prt`, want: []Issue{{20, `owner.spec.map.k has no field "prt"; did you mean "port"?`}}},
		"Macro":        {reason: "a macro's variable", source: `owner.spec.list.map(e, e.prt)`, want: []Issue{{25, `owner.spec.list[] has no field "prt"; did you mean "port"?`}}},
		"Filter":       {reason: "what a filter lets through", source: `things.filter(t, t.spec.size > 1)[0].spek`, want: []Issue{{37, `things[] has no field "spek"; did you mean "spec"?`}}},
		"TwoVariables": {reason: "the second of two variables", source: `owner.spec.map.all(k, v, v.nam == k)`, want: []Issue{{27, `owner.spec.map[] has no field "nam"; did you mean "name"?`}}},
		"Sorted":       {reason: "what is sorted", source: `owner.spec.list.sortBy(e, e.port).first().value().nam`, want: []Issue{{50, `owner.spec.list[] has no field "nam"; did you mean "name"?`}}},
		"Recursive":    {reason: "a schema that has itself below", source: `owner.spec.node.next.next.next.nxt`, want: []Issue{{31, `owner.spec.node.next.next.next has no field "nxt"; did you mean "next"?`}}},
		"OptionalSlip": {reason: "an optional one that is surely a slip", source: `owner.spec.?sise.orValue(1)`, want: []Issue{{12, `owner.spec has no field "sise"; did you mean "size"?`}}},
		"IndexSlip":    {reason: "by index", source: `owner.spec['sise']`, want: []Issue{{12, `owner.spec has no field "sise"; did you mean "size"?`}}},
		"Bound":        {reason: "a bound name", source: `owner.?spec.optMap(s, s.sise)`, want: []Issue{{24, `owner.spec has no field "sise"; did you mean "size"?`}}},

		"Optional":     {reason: "what may be absent may be of another version", source: `owner.spec.?replicas.orValue(1)`},
		"Has":          {reason: "so may what is asked for", source: `has(owner.spec.replicas)`},
		"Open":         {reason: "nothing is known of it", source: `owner.spec.any.a.b['c'].d`},
		"Dyn":          {reason: "it is to be taken for anything", source: `dyn(owner.spec).sise`},
		"Labels":       {reason: "a map has any key", source: `owner.metadata.labels.app == owner.metadata.labels['x/y']`},
		"Reserved":     {reason: "a field whose name is a word of CEL", source: `owner.metadata.namespace`},
		"Numbers":      {reason: "numbers are not told apart", source: `owner.spec.size + 1.0 > 2 && owner.spec.size / 2 == 1`},
		"OtherDefault": {reason: "a default with other fields", source: `owner.?spec.orValue({'sise': 1}).sise`},
		"Either":       {reason: "one of two", source: `(any.a ? owner.spec : any).sise`},
		"Shadowed":     {reason: "a macro's variable of the same name", source: `any.map(owner, owner.sise)`},
		"Mapped":       {reason: "what is computed", source: `owner.spec.list.map(e, {'x': e})[0].x.sise`},
		"Keys":         {reason: "the keys of a map", source: `owner.spec.map.map(k, k.size())`},
		"Null":         {reason: "null compares with all", source: `owner.spec == null || owner.spec.list == null`},
		"Ready":        {reason: "readiness is no field", source: `ready(owner) && owner.spec.size == 1`},
		"DynamicKey":   {reason: "a key that is only known later", source: `owner.spec[any.key].x`},
		"WholeAndDeep": {reason: "a list in which objects are added", source: `(owner.spec.list + [{'x': 1}])[0].x`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, issues := typedEnv(t).CompileExpr(tc.source)
			if diff := cmp.Diff(tc.want, issues); diff != "" || (x == nil) != (len(tc.want) > 0) {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTypedEvaluationIsTheSame: schemas only refuse.
func TestTypedEvaluationIsTheSame(t *testing.T) {
	typed, untyped := typedEnv(t), mustEnv(t, "owner", "things", "any", ReadyVar)
	compiled := 0
	for _, source := range sortedKeys(corpus) {
		x, issues := typed.CompileExpr(source)
		if len(issues) > 0 {
			continue
		}
		compiled++
		if diff := cmp.Diff(outcome(mustCompile(t, untyped, source), sample()), outcome(x, sample())); diff != "" {
			t.Errorf("%s (-untyped +typed):\n%s", source, diff)
		}
	}
	if compiled < 20 {
		t.Errorf("only %d expressions compile with schemas", compiled)
	}
}

// TestOpenSchemasRefuseNothing: with variables of which nothing is known, what
// compiles without types compiles with them. The expressions are those of the
// policies that Ambit brings along, too.
func TestOpenSchemasRefuseNothing(t *testing.T) {
	raced.Skip(t)
	names := []string{"owner", "object", "policy", "access", "deployment", "service", "pods", "labels", "element", ReadyVar}
	schemas := map[string]*Schema{}
	for _, name := range names {
		schemas[name] = nil
	}
	typed, err := NewTypedEnv(schemas)
	if err != nil {
		t.Fatal(err)
	}
	untyped := mustEnv(t, names...)
	sources := append(hostile(t), sortedKeys(corpus)...)
	for _, source := range append(sources, inPolicies(t)...) {
		if _, issues := untyped.CompileExpr(source); len(issues) > 0 {
			continue
		}
		if _, issues := typed.CompileExpr(source); len(issues) > 0 {
			t.Errorf("%s: %v", source, issues)
		}
	}
}

// inPolicies returns what stands in ${...} in the policies of this repository.
func inPolicies(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var sources []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\$\{[^\n]*`).FindAllString(string(text), -1) {
			pieces, _ := splitTemplate(strings.TrimRight(found, `"'`))
			for _, p := range pieces {
				if p.expression {
					sources = append(sources, p.text)
				}
			}
		}
	}
	return sources
}
