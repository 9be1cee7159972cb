package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEmbedding: the program of docs/embedding.md is the example of package manager, which
// is compiled with its tests.
func TestEmbedding(t *testing.T) {
	_, after, _ := strings.Cut(read(t, "docs/embedding.md"), "\n```go\n")
	program, _, found := strings.Cut(after, "```\n")
	if !found {
		t.Fatal("docs/embedding.md has no program")
	}
	example := read(t, "pkg/manager/example_test.go")
	for _, name := range []struct{ here, there string }{
		{"package manager_test\n", "package main\n"},
		{"func ExampleRun() {\n", "func main() {\n"},
	} {
		if !strings.Contains(example, name.here) {
			t.Fatalf("the example has no %q", name.here)
		}
		example = strings.Replace(example, name.here, name.there, 1)
	}
	if diff := cmp.Diff(example, program); diff != "" {
		t.Errorf("docs/embedding.md shows another program: -example +document:\n%s", diff)
	}
}

// TestTwentyLines: from the text of policies to a running operator it is 20 lines of Go at most: the function run of that
// program.
func TestTwentyLines(t *testing.T) {
	files := token.NewFileSet()
	example, err := parser.ParseFile(files, filepath.Join(root, "pkg/manager/example_test.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	run, ok := example.Scope.Lookup("run").Decl.(*ast.FuncDecl)
	if !ok {
		t.Fatal("the example has no function run")
	}
	if lines := files.Position(run.Body.End()).Line - files.Position(run.Body.Pos()).Line - 1; lines > 20 || lines < 5 {
		t.Errorf("run has %d lines, want up to 20", lines)
	}
}

// TestEmbeddedFunctions: the function of docs/embedding.md that adds functions is that of the example of package cli.
func TestEmbeddedFunctions(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/embedding.md"), "\n## Functions of your own\n")
	_, after, _ := strings.Cut(section, "\n```go\n")
	shown, _, found := strings.Cut(after, "```\n")
	if !found || !strings.Contains(read(t, "pkg/cli/example_test.go"), shown) {
		t.Errorf("docs/embedding.md shows another function than the example:\n%s", shown)
	}
}
