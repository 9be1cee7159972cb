package docs

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReasons: whoever sees a reason finds what it means and what to type.
func TestReasons(t *testing.T) {
	known := reasons(t)
	if len(known) < 10 {
		t.Fatalf("found only these reasons: %v", known)
	}
	described := map[string]string{}
	for _, s := range sections(read(t, "docs/troubleshooting.md")) {
		if title := strings.Trim(s.title, "`"); s.level == 3 && title != s.title {
			described[title] = s.text
		}
	}
	for _, reason := range known {
		if text, ok := described[reason]; !ok || len(strings.Fields(text)) < 15 {
			t.Errorf("docs/troubleshooting.md has no heading \"### `%s`\" with some sentences below it", reason)
		}
	}
	for title := range described {
		if !slices.Contains(known, title) {
			t.Errorf("docs/troubleshooting.md has a heading for the reason %s, which there is not", title)
		}
	}
}

// reasons are the values of the constants Reason* of the API.
func reasons(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, file := range sources(t, "pkg/api/v1alpha1") {
		for _, decl := range file.Decls {
			constants, ok := decl.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				found = append(found, reasonsIn(t, spec.(*ast.ValueSpec))...)
			}
		}
	}
	return found
}

func reasonsIn(t *testing.T, spec *ast.ValueSpec) []string {
	t.Helper()
	var found []string
	for i, name := range spec.Names {
		if !strings.HasPrefix(name.Name, "Reason") {
			continue
		}
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok {
			t.Fatalf("constant %s is not a literal", name)
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatalf("constant %s: %v", name, err)
		}
		found = append(found, value)
	}
	return found
}
