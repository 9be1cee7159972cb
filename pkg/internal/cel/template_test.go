package cel

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRenderString(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   any
		failed string // part of the error
	}{
		"Plain":           {reason: "text without expressions", in: "a $b {c} $ {", want: "a $b {c} $ {"},
		"Empty":           {reason: "the empty string", in: "", want: ""},
		"Lone":            {reason: "a lone expression gives its type", in: "${owner.spec.size}", want: int64(3)},
		"LoneMap":         {reason: "a map, too", in: "${owner.metadata.labels}", want: map[string]any{"app": "x", "tier.io/b": "y"}},
		"LoneNull":        {reason: "null is a value", in: "${null}"},
		"LoneNullField":   {reason: "a field that is null is absent", in: "${owner.spec.?nothing}", want: Absent},
		"LoneAbsent":      {reason: "an absent optional is Absent", in: "${owner.?none}", want: Absent},
		"Spaces":          {reason: "spaces inside do not matter", in: "${ owner.spec.size }", want: int64(3)},
		"SpaceOutside":    {reason: "spaces outside make it text", in: " ${owner.spec.size}", want: " 3"},
		"Text":            {reason: "string, int, double and bool become text", in: "${owner.spec.name}-${owner.spec.size}-${owner.spec.ratio}-${owner.spec.on}", want: "n-3-1.5-true"},
		"Adjacent":        {reason: "two expressions make text", in: "${owner.spec.size}${owner.spec.size}", want: "33"},
		"TextNull":        {reason: "null is no text", in: "a${null}", failed: "gives null_type, want a string, number or bool inside of text"},
		"TextMap":         {reason: "nor is a map", in: "a${owner.spec}", failed: "gives map"},
		"TextAbsent":      {reason: "nor is an absent optional", in: "a${owner.?none}", failed: "gives an absent optional"},
		"Escape":          {reason: "$${ is a literal ${", in: "$${owner}", want: "${owner}"},
		"EscapeBeside":    {reason: "beside an expression", in: "$${x}${owner.spec.size}", want: "${x}3"},
		"DollarBefore":    {reason: "of several dollars the last two escape", in: "$$${x}", want: "$${x}"},
		"DollarAtEnd":     {reason: "a dollar alone is one", in: "5$", want: "5$"},
		"Dollars":         {reason: "dollars without a brace stay", in: "$$ $x", want: "$$ $x"},
		"BraceInLiteral":  {reason: "} in a string literal ends nothing", in: `${'}' + "}"}`, want: "}}"},
		"OpenInLiteral":   {reason: "nor does { open", in: `${'{'}`, want: "{"},
		"MapLiteral":      {reason: "braces of maps are balanced", in: `${{'a': {'b': 1}}}`, want: map[string]any{"a": map[string]any{"b": int64(1)}}},
		"EscapedQuote":    {reason: "an escaped quote ends no literal", in: `${'\'}' + "\"}"}`, want: `'}"}`},
		"EscapedSlash":    {reason: "an escaped backslash escapes no quote", in: `${'\\'}`, want: `\`},
		"Raw":             {reason: "in a raw literal a backslash is one", in: `${r'\'}`, want: `\`},
		"RawUpper":        {reason: "R as well", in: `${R"}\"}`, want: `}\`},
		"NotRaw":          {reason: "an identifier that ends in r is no prefix", in: `${owner.spec.?for.orValue('\'}')}`, want: `'}`},
		"Triple":          {reason: "a triple-quoted literal holds quotes", in: `${'''a'}"b'''}`, want: `a'}"b`},
		"TripleDouble":    {reason: "with double quotes, too, over lines", in: "${\"\"\"a\"}\nb\"\"\"}", want: "a\"}\nb"},
		"RawTriple":       {reason: "raw and triple", in: `${r"""\"}"""}`, want: `\"}`},
		"RawBytes":        {reason: "raw bytes", in: `${string(br'\}')}`, want: `\}`},
		"Comment":         {reason: "a comment holds braces and quotes", in: "${owner.spec.size // } ' \"\n}", want: int64(3)},
		"SlashInLiteral":  {reason: "a URL is no comment", in: `${'http://x/'}}`, want: "http://x/}"},
		"Nested":          {reason: "a dollar brace in a literal is text", in: `${'${x}'}`, want: "${x}"},
		"NoSuchKey":       {reason: "what fails is said", in: "${owner.spec.none}", failed: "no such key: none"},
		"NoSuchKeyInText": {reason: "in text, too", in: "a ${owner.spec.none}", failed: "no such key: none"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mustTemplate(t, tc.in).Render(t.Context(), Activation{"owner": sample()})
			if (err != nil) != (tc.failed != "") || err != nil && !strings.Contains(err.Error(), tc.failed) {
				t.Fatalf("%s: gives %v, %v", tc.reason, got, err)
			}
			if tc.failed != "" {
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Absent)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTemplateIssues(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     any
		want   []TemplateIssue // Message is matched in part
	}{
		"Open":       {reason: "an expression that does not end", in: "ab${owner", want: []TemplateIssue{{Offset: 2, Message: "without its closing }"}}},
		"OpenQuote":  {reason: "a literal that does not end", in: "${'a}", want: []TemplateIssue{{Message: "without its closing }"}}},
		"OpenBrace":  {reason: "a brace that is not closed", in: "${ {'a': 1 }", want: []TemplateIssue{{Message: "without its closing }"}}},
		"NoCode":     {reason: "nothing between the braces", in: "a${ }", want: []TemplateIssue{{Offset: 1, Message: "no expression"}}},
		"Undeclared": {reason: "offsets count in the string", in: "ä ${owner.a + nobody}", want: []TemplateIssue{{Offset: 15, Message: "undeclared reference to 'nobody'"}}},
		"Two":        {reason: "all issues of a string", in: "${first} ${second}", want: []TemplateIssue{{Offset: 2, Message: "'first'"}, {Offset: 11, Message: "'second'"}}},
		"Path": {reason: "paths lead to the strings, in order of the keys", in: map[string]any{"b": []any{"x", map[string]any{"c.d": "${first}"}}, "a": "${"},
			want: []TemplateIssue{{Path: []any{"a"}, Message: "closing"}, {Path: []any{"b", 1, "c.d"}, Offset: 2, Message: "'first'"}}},
		"Key": {reason: "keys are literal", in: map[string]any{"a": map[string]any{"${owner.a}": "x"}}, want: []TemplateIssue{{Path: []any{"a", "${owner.a}"}, Message: "keys are literal"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			template, got := mustEnv(t, "owner").CompileTemplate(tc.in)
			for i := range min(len(got), len(tc.want)) {
				if strings.Contains(got[i].Message, tc.want[i].Message) {
					got[i].Message = tc.want[i].Message
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || template != nil {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// deployment is a tree with expressions of all kinds in it.
func deployment() map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "${owner.metadata.name}-db", "labels": "${owner.metadata.labels}", "annotations": map[string]any{}},
		"spec": map[string]any{
			"replicas": "${owner.spec.size}",
			"paused":   "${owner.spec.?paused}",
			"template": map[string]any{"spec": map[string]any{
				"hostNetwork": false,
				"containers": []any{
					map[string]any{"name": "main", "args": []any{"-n", "${owner.spec.name}", "${owner.spec.?flag}"}, "ports": []any{}},
					"${owner.spec.?sidecar}",
				},
			}},
		},
	}
}

func TestTemplate(t *testing.T) {
	template := mustTemplate(t, deployment())
	want := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "a-db", "labels": map[string]any{"app": "x", "tier.io/b": "y"}, "annotations": map[string]any{}},
		"spec": map[string]any{
			"replicas": int64(3),
			"template": map[string]any{"spec": map[string]any{
				"hostNetwork": false,
				"containers":  []any{map[string]any{"name": "main", "args": []any{"-n", "n"}, "ports": []any{}}},
			}},
		},
	}
	got, err := template.Render(t.Context(), Activation{"owner": sample()})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("rendered (-want +got):\n%s%v", diff, err)
	}
	if diff := cmp.Diff([]string{"owner"}, template.FreeVariables()); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if got, want := template.FieldsRead()["owner"].String(), "{metadata{labels!,name!},spec{flag!,name!,paused!,sidecar!,size!}}"; got != want {
		t.Errorf("reads %s, want %s", got, want)
	}
	if got, want := template.FieldsSet().String(), "{apiVersion!,kind!,metadata{annotations!,labels!,name!},spec{paused!,replicas!,template{spec{containers{*!},hostNetwork!}}}}"; got != want {
		t.Errorf("sets %s, want %s", got, want)
	}
}

func TestRenderIsOwned(t *testing.T) {
	tree := map[string]any{"a": []any{map[string]any{"b": "c"}}, "d": "${owner.spec}", "e": map[string]any{}}
	owner := sample()
	template := mustTemplate(t, tree)
	tree["a"].([]any)[0].(map[string]any)["b"] = "changed by its maker"
	tree["e"].(map[string]any)["b"] = "added by its maker"
	first, err := template.Render(t.Context(), Activation{"owner": owner})
	if err != nil {
		t.Fatal(err)
	}
	first.(map[string]any)["a"].([]any)[0].(map[string]any)["b"] = "changed"
	first.(map[string]any)["d"].(map[string]any)["size"] = "changed"
	second, err := template.Render(t.Context(), Activation{"owner": owner})
	want := map[string]any{"a": []any{map[string]any{"b": "c"}}, "d": sample()["spec"], "e": map[string]any{}}
	if diff := cmp.Diff(want, second); diff != "" || err != nil {
		t.Errorf("a later rendering (-want +got):\n%s%v", diff, err)
	}
}

// TestRenderShared: it gives what Render gives; constant parts are those of the template, but for what holds
// null, and what the caller owns.
func TestRenderShared(t *testing.T) {
	constant := func() map[string]any { return map[string]any{"x": []any{"y"}} }
	template := mustTemplate(t, map[string]any{
		"shared": constant(), "owned": constant(), "null": map[string]any{"x": []any{map[string]any{"z": nil}}},
		"below": map[string]any{"owned": constant(), "name": "${owner.spec.name}"},
	})
	want, err := template.Render(t.Context(), Activation{"owner": sample()})
	if err != nil {
		t.Fatal(err)
	}
	render := func() map[string]any {
		got, err := template.RenderShared(t.Context(), Activation{"owner": sample()}, "owned")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("it is not what Render gives (-want +got): %v\n%s", err, diff)
		}
		return got.(map[string]any)
	}
	first, second := render(), render()
	for key, isShared := range map[string]bool{"shared": true, "owned": false, "null": false} {
		m, also := first[key].(map[string]any), second[key].(map[string]any)
		m["x"].([]any)[0] = "changed"
		if got := also["x"].([]any)[0] == "changed"; got != isShared {
			t.Errorf("%s is shared: %t", key, got)
		}
	}
	if below := first["below"].(map[string]any)["owned"].(map[string]any); reflect.ValueOf(below).Pointer() != reflect.ValueOf(second["below"].(map[string]any)["owned"]).Pointer() {
		t.Error("what is owned is a key of the whole, not of its parts")
	}
	whole := mustTemplate(t, constant())
	a, _ := whole.RenderShared(t.Context(), Activation{})
	a.(map[string]any)["x"] = "changed"
	if b, _ := whole.RenderShared(t.Context(), Activation{}); !cmp.Equal(b, any(constant())) {
		t.Errorf("a template without expressions is shared as a whole: %v", b)
	}
}

func TestRenderFailures(t *testing.T) {
	template := mustTemplate(t, map[string]any{
		"ok":   "${owner.spec.size}",
		"list": []any{"a", "${owner.spec.none}", "c"},
		"map":  map[string]any{"x": "${owner.none}", "y": "text ${owner.spec.size / 0}"},
	})
	a := Activation{"owner": sample()}

	got, err := template.Render(t.Context(), a)
	var failed *EvalError
	if got != nil || !errors.As(err, &failed) || !failed.NoSuchKey || err.Error() != "at list[1]: no such key: none" {
		t.Errorf("gives %v, %v", got, err)
	}

	got, leaves := template.RenderPartial(t.Context(), a)
	want := map[string]any{"ok": int64(3), "list": []any{"a", "c"}, "map": map[string]any{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in part (-want +got):\n%s", diff)
	}
	var texts []string
	for _, leaf := range leaves {
		texts = append(texts, leaf.Error())
	}
	if diff := cmp.Diff([]string{"at list[1]: no such key: none", "at map.x: no such key: none", "at map.y: division by zero"}, texts); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestTextIsBounded(t *testing.T) {
	template := mustTemplate(t, strings.Repeat("${owner}", 20))
	_, err := template.Render(t.Context(), Activation{"owner": strings.Repeat("a", 100_000)})
	var failed *EvalError
	if !errors.As(err, &failed) || !failed.Budget {
		t.Errorf("text of 2 MB gives %v", err)
	}
}

func mustTemplate(t testing.TB, tree any) *Template {
	t.Helper()
	template, issues := mustEnv(t, "owner").CompileTemplate(tree)
	if len(issues) > 0 {
		t.Fatalf("compiling %v: %v", tree, issues)
	}
	return template
}
