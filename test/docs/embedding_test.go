package docs

import (
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
