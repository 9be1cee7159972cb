package syntax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// TestDecodePolicy: decoding is strict, goes on after a mistake, and leaves what is wrong at zero.
func TestDecodePolicy(t *testing.T) {
	for name, c := range map[string]struct {
		reason, spec string
		want         []string
	}{
		"Fine":      {reason: "all is known", spec: "owner: {apiVersion: v1, kind: Pod}"},
		"Unknown":   {reason: "a near name is offered", spec: "owner: {apiVersion: v1, kind: Pod}\nsuspnd: true", want: []string{`5:3: unknown field "suspnd" in spec (did you mean "suspend"?)`}},
		"Required":  {reason: "each missing field is one mistake", spec: "owner: {}", want: []string{"4:10: spec.owner.apiVersion is required", "4:10: spec.owner.kind is required"}},
		"Bool":      {reason: "a string is no bool", spec: "owner: {apiVersion: v1, kind: Pod}\nsuspend: 'yes'", want: []string{`5:12: spec.suspend must be true or false, is the string "yes"`}},
		"Text":      {reason: "a number is no string, and quotes help", spec: "owner: {apiVersion: 1, kind: Pod}", want: []string{`4:23: spec.owner.apiVersion must be a string, is the number 1: quote it, "1"`}},
		"List":      {reason: "a mapping is no list", spec: "owner: {apiVersion: v1, kind: Pod}\nchildren: {}", want: []string{"5:13: spec.children must be a list, is a mapping"}},
		"Mapping":   {reason: "a list is no mapping", spec: "owner: []", want: []string{"4:10: spec.owner must be a mapping, is a list"}},
		"Null":      {reason: "nothing is not the same as not there", spec: "owner: {apiVersion: v1, kind: Pod}\nscope:", want: []string{"5:9: spec.scope has no value: write one, or leave the field out"}},
		"Empty":     {reason: "an empty string is said to be one", spec: "owner: {apiVersion: v1, kind: ''}", want: []string{"4:33: spec.owner.kind is empty: write something, or leave the field out"}},
		"Enum":      {reason: "words that are allowed are listed", spec: "owner: {apiVersion: v1, kind: Pod}\ninformers: owner", want: []string{`5:14: spec.informers must be one of Auto, Owner, Namespace, Cluster; is "owner" (did you mean "Owner"?)`}},
		"Number":    {reason: "a number has limits", spec: "owner: {apiVersion: v1, kind: Pod}\nchildren: [{id: a, keep: 1001, template: {}}]", want: []string{"5:28: spec.children[0].keep must be between 0 and 1000, is the number 1001"}},
		"Fraction":  {reason: "a fraction is no whole number", spec: "owner: {apiVersion: v1, kind: Pod}\nchildren: [{id: a, keep: 1.5, template: {}}]", want: []string{"5:28: spec.children[0].keep must be a whole number, is the number 1.5"}},
		"Labels":    {reason: "values of labels are strings", spec: "owner: {apiVersion: v1, kind: Pod, selector: {matchLabels: {a: true}}}", want: []string{`4:66: spec.owner.selector.matchLabels.a must be a string, is the bool true: quote it, "true"`}},
		"Long":      {reason: "a string has a limit", spec: "owner: {apiVersion: v1, kind: " + strings.Repeat("a", 4097) + "}", want: []string{"4:33: spec.owner.kind is longer than 4096 bytes"}},
		"ManyReady": {reason: "a list has a limit", spec: "owner: {apiVersion: v1, kind: Pod}\nchildren: [{id: a, template: {}, readyWhen: [" + strings.Repeat("a, ", 17) + "]}]", want: []string{"5:47: spec.children[0].readyWhen has 17 items, more than 16"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := parseOne(t, header+"spec:\n  "+strings.ReplaceAll(c.spec, "\n", "\n  ")+"\n")
			found := syntax.NewDiagnostics(d)
			syntax.DecodePolicy(d, found)
			var got []string
			if text := briefly(found.Err()); text != "" {
				got = strings.Split(strings.ReplaceAll(text, "p.yaml:", ""), "\n")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestLint: what YAML can do and no policy may.
func TestLint(t *testing.T) {
	for name, c := range map[string]struct{ reason, text, want string }{
		"Plain":  {reason: "nothing is wrong", text: "a: 1\n"},
		"Twice":  {reason: "a key stands once", text: "a: 1\nb: 2\na: 3\n", want: `5:1: field "a" stands here for the second time; the first is at line 3`},
		"Anchor": {reason: "a value is said where it is meant", text: "a: &x 1\n", want: "3:4: anchors are not supported: write the value out, or make it a variable"},
		"Merge":  {reason: "fields stand where they count", text: "a: {<<: {b: 1}}\n", want: "3:5: merge keys are not supported: write the fields out"},
		"Key":    {reason: "a key is a string", text: "1: a\n", want: `3:1: a key must be a string, this is the number 1: quote it, "1"`},
		"Tag":    {reason: "YAML's own tags change what a value is", text: "a: !!str 1\n", want: "3:4: tags are not supported: leave out !!str"},
	} {
		t.Run(name, func(t *testing.T) {
			d := parseOne(t, header+c.text)
			found := syntax.NewDiagnostics(d)
			syntax.Lint(d.Root(), found)
			if got := strings.ReplaceAll(briefly(found.Err()), "p.yaml:", ""); got != c.want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.reason, got, c.want)
			}
		})
	}
}

// TestValue: a value is what JSON can say, and other scalars are mistakes.
func TestValue(t *testing.T) {
	for name, c := range map[string]struct {
		reason, text string
		want         any
		wrong        string
	}{
		"Tree":     {reason: "mappings and lists", text: "{b: [1, true, null, x]}", want: map[string]any{"b": []any{int64(1), true, nil, "x"}}},
		"Date":     {reason: "a date is the text that it is written as", text: "2024-01-02", want: "2024-01-02"},
		"Fraction": {reason: "a fraction stays one", text: "1.5", want: 1.5},
		"Large":    {reason: "a number that no program can hold was meant as text", text: "99999999999999999999", wrong: "too large: quote it"},
		"Infinite": {reason: "JSON has no infinity", text: ".inf", wrong: "no number in JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			d := parseOne(t, header+"a: "+c.text+"\n")
			found := syntax.NewDiagnostics(d)
			got := found.Value(syntax.LookupNode(d.Root(), "a"))
			if diff := cmp.Diff(c.want, got); c.wrong == "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if text := briefly(found.Err()); (c.wrong == "") != (text == "") || !strings.Contains(text, c.wrong) {
				t.Errorf("%s: %q is wrong, want %q", c.reason, text, c.wrong)
			}
		})
	}
}

// TestDiagnostics: mistakes are sorted by place, each once, also inside of folded text; those of
// objects have paths.
func TestDiagnostics(t *testing.T) {
	d := parseOne(t, header+"a: >-\n  first\n  second\nb: 1\n")
	found := syntax.NewDiagnostics(d)
	a, b := syntax.LookupNode(d.Root(), "a"), syntax.LookupNode(d.Root(), "b")
	found.At(b, "last")
	found.In(a, len("first s"), "inside")
	found.At(b, "last")
	if got := briefly(found.Err()); got != "p.yaml:5:4: inside\np.yaml:6:4: last" {
		t.Errorf("got %s", got)
	}
	if found.LineOf(b) != 6 || found.PlaceOf(b) != "p.yaml:6" {
		t.Errorf("b is at line %d, %s", found.LineOf(b), found.PlaceOf(b))
	}
	object, err := syntax.FromObject("o", map[string]any{"apiVersion": "ambit.dev/v1alpha1", "kind": "ReconcilePolicy", "spec": map[string]any{"x": []any{"a", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	at := syntax.LookupNode(object.Root(), "spec", "x", 1)
	if got := syntax.NewDiagnostics(object).PlaceOf(at); got != "o spec.x[1]" {
		t.Errorf("the element of an object is at %s", got)
	}
}
