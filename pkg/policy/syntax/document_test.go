package syntax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

const header = "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\n"

// TestParse: what is no policy is refused where it stands, and the policies beside it are read.
func TestParse(t *testing.T) {
	item := "- apiVersion: ambit.dev/v1alpha1\n  kind: ReconcilePolicy\n  metadata: {name: %}\n"
	for name, c := range map[string]struct {
		reason, text string
		names        []string
		want         string // of the error without lines of the source; empty: there is none
	}{
		"One":       {reason: "a document is a policy", text: header + "metadata: {name: a}\n", names: []string{"a"}},
		"Several":   {reason: "documents with nothing in them are skipped", text: header + "metadata: {name: a}\n---\n# nothing\n---\n" + header + "metadata: {name: b}\n", names: []string{"a", "b"}},
		"Nothing":   {reason: "a file may be empty", text: "# nothing\n"},
		"List":      {reason: "a list has its items", text: "apiVersion: v1\nkind: List\nitems:\n" + strings.ReplaceAll(item, "%", "a") + strings.ReplaceAll(item, "%", "b"), names: []string{"a", "b"}},
		"EmptyList": {reason: "a list of none is fine", text: "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicyList\nitems:\n"},
		"NoItems":   {reason: "a list says what is in it", text: "apiVersion: v1\nkind: List\n", want: "f:1:1: items is required in a list"},
		"BadItems":  {reason: "items are a list", text: "apiVersion: v1\nkind: List\nitems: {}\n", want: "f:3:8: items must be a list, is a mapping"},
		"ListField": {reason: "a list has no other fields", text: "apiVersion: v1\nkind: List\nitem: []\nitems: []\n", want: `f:3:1: unknown field "item" in the list (did you mean "items"?)`},
		"Item": {
			reason: "an item that is no policy is named by its path, and the others count",
			text:   "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n" + strings.ReplaceAll(item, "%", "b"), names: []string{"b"},
			want: "f:4:15: items[0].apiVersion must be ambit.dev/v1alpha1, is the string \"v1\"\nf:5:9: items[0].kind must be ReconcilePolicy, is the string \"Pod\"",
		},
		"NoPolicy":  {reason: "a policy says what it is", text: "a: 1\n", want: "f:1:1: apiVersion is required: it must be ambit.dev/v1alpha1\nf:1:1: kind is required: it must be ReconcilePolicy"},
		"NoMapping": {reason: "a policy has fields", text: "- 1\n", want: "f:1:1: a policy must be a mapping, this is a list"},
		"NoUTF8":    {reason: "other text is not guessed at", text: header + "a: \xff\n", want: "f:3:4: this is not UTF-8 text"},
		"NoYAML":    {reason: "what came before is read", text: header + "metadata: {name: a}\n---\na: [\n", names: []string{"a"}, want: "f:5:1: this is no YAML"},
		"Mark":      {reason: "an expression that begins with ! looks like a tag", text: header + "a: !{\n", want: "stands in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := syntax.Parse("f", []byte(c.text))
			var names []string
			for _, d := range documents {
				names = append(names, d.Name())
			}
			if diff := cmp.Diff(c.names, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if got := briefly(err); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%s:\ngot  %s\nwant %s", c.reason, got, c.want)
			}
		})
	}
}

// briefly is an error of this package without lines of the source.
func briefly(err error) string {
	found, _ := err.(syntax.Errors) //nolint:errorlint // it is returned as it is
	var lines []string
	for _, e := range found {
		lines = append(lines, e.Brief())
	}
	return strings.Join(lines, "\n")
}

// TestStoredPolicy: of a policy that an API server has stored only what an author writes counts.
func TestStoredPolicy(t *testing.T) {
	stored := header + "metadata: {name: a, namespace: n, uid: x, resourceVersion: '1'}\nspec: {owner: {apiVersion: v1, kind: Pod}}\nstatus: {what: ever}\n"
	d := parseOne(t, stored)
	found := syntax.NewDiagnostics(d)
	p := syntax.DecodePolicy(d, found)
	if err := found.Err(); err != nil || p.Name != "a" || p.Namespace != "n" || p.ResourceVersion != "" || p.Spec.Owner.Kind != "Pod" {
		t.Errorf("got %v, %v", p, err)
	}
}

// TestDocumentIn: a namespace is given to a policy that says none.
func TestDocumentIn(t *testing.T) {
	without, with := parseOne(t, header+"metadata: {name: a}\n"), parseOne(t, header+"metadata: {name: a, namespace: n}\n")
	if got := without.InNamespace("m"); got.Namespace() != "m" || without.Namespace() != "" {
		t.Errorf("it is in %q, and the document itself in %q", got.Namespace(), without.Namespace())
	}
	if got := with.InNamespace("m"); got != with {
		t.Errorf("what says a namespace is in %q", got.Namespace())
	}
	if got := without.InNamespace(""); got != without {
		t.Error("no namespace is none")
	}
	for _, empty := range []string{`""`, "null", "~", ""} {
		d := parseOne(t, header+"metadata: {namespace: "+empty+", name: a}\n")
		if got := d.InNamespace("m"); got.Namespace() != "m" || got.Name() != "a" || d.Namespace() != "" {
			t.Errorf("namespace: %s: it is in %q, and the document itself in %q", empty, got.Namespace(), d.Namespace())
		}
	}
}

// TestDocumentKinds: legible kinds of owner, children and watches, in this order.
func TestDocumentKinds(t *testing.T) {
	d := parseOne(t, header+`spec:
  watches: [{apiVersion: v1, kind: Node}, {kind: Pod}, 3]
  children: [{template: {apiVersion: apps/v1, kind: Deployment}}, {template: {apiVersion: a/b/c, kind: X}}]
  owner: {apiVersion: example.com/v1, kind: App}
`)
	var got []string
	for _, gvk := range d.Kinds() {
		got = append(got, gvk.String())
	}
	want := []string{"example.com/v1, Kind=App", "apps/v1, Kind=Deployment", "/v1, Kind=Node"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDocumentOnly: parts are kept with their places, and the document stays whole.
func TestDocumentOnly(t *testing.T) {
	d := parseOne(t, header+"metadata: {name: a}\nspec:\n  suspend: true\n  owner: {apiVersion: v1, kind: Pod}\n")
	only := d.KeepOnly(syntax.Parts{"spec": {"owner": nil}})
	if only.Name() != "" || d.Name() != "a" {
		t.Errorf("the name is %q, and that of the document itself %q", only.Name(), d.Name())
	}
	owner := syntax.LookupNode(only.Root(), "spec", "owner")
	if owner == nil || syntax.LookupNode(only.Root(), "spec", "suspend") != nil {
		t.Fatal("the owner is not there, or more than it")
	}
	if place := syntax.NewDiagnostics(only).PlaceOf(owner); place != "p.yaml:6" {
		t.Errorf("the owner is at %s", place)
	}
}
