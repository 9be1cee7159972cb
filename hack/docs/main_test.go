package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	typesDir    = "../../pkg/api/v1alpha1"
	examplesDir = "../../docs/examples"
)

// TestPage: docs/policy.md is what `make generate` writes.
func TestPage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "policy.md")
	if err := run(typesDir, examplesDir, out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/policy.md is not what the types and examples say: make generate\n-is +should be:\n%s", diff)
	}
}

// TestRefused: a field without an example, and an example without a field, are named.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		reason   string
		examples map[string]string
		fields   []field
		want     string
	}{
		"NoExample": {
			reason: "Every field is shown in use.",
			fields: []field{{path: "owner", doc: "owner is it."}},
			want:   "field owner has no example: docs/examples/owner.yaml",
		},
		"UnusedField": {
			reason:   "An example of the field above counts only if it has the field.",
			examples: map[string]string{"children": "spec: {children: [{id: a}, {id: b, keep: 1}]}"},
			fields:   []field{{path: "children[]", doc: "d."}, {path: "children[].keep", doc: "d."}, {path: "children[].when", doc: "d."}},
			want:     "field children[].when has no example: docs/examples/children.when.yaml",
		},
		"Stray": {
			reason:   "An example that is shown nowhere is a mistake in its name.",
			examples: map[string]string{"owner": "spec: {owner: {}}", "onwer": "spec: {owner: {}}"},
			fields:   []field{{path: "owner", doc: "owner is it."}},
			want:     `example "onwer" is shown nowhere: its name is no field, and intro.md does not name it`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.examples {
				if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			examples, err := readExamples(dir)
			if err != nil {
				t.Fatal(err)
			}
			_, err = write("", tc.fields, examples)
			if err == nil || err.Error() != tc.want {
				t.Errorf("%s\ngot %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}

// TestNoTypes: a folder without the types is said to be one.
func TestNoTypes(t *testing.T) {
	err := run(t.TempDir(), examplesDir, filepath.Join(t.TempDir(), "policy.md"))
	if err == nil || err.Error() != "reading the types: there is no type ReconcilePolicySpec" {
		t.Errorf("got %v", err)
	}
}

// TestFields: what is read of the types.
func TestFields(t *testing.T) {
	source, err := readTypes(typesDir)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := source.fields("ReconcilePolicySpec", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		switch f.path {
		case "children[].keep":
			if diff := cmp.Diff([]string{"0 or more", "1000 or less"}, f.limits); diff != "" || f.kind != "integer" || f.required {
				t.Errorf("%+v: %s", f, diff)
			}
		case "children[].forEach.in":
			if !f.required || f.kind != "string" || !strings.HasPrefix(f.doc, "in is a CEL expression of type list") {
				t.Errorf("%+v", f)
			}
		case "deletion":
			if len(f.values) != 2 || f.values[0].text != "Background" {
				t.Errorf("%+v", f)
			}
		}
	}
}
