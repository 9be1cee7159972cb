package policy_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

var rewrite = flag.Bool("rewrite", false, "write what is into testdata, for the diff to be reviewed")

// TestPolicies compiles each file of testdata: a policy, a line `----`, and what
// comes of it: the mistakes, or the program.
func TestPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { testPolicy(t, file, policy.Options{}) })
	}
}

// TestTypes is the same with what is known of some kinds.
func TestTypes(t *testing.T) {
	files, err := filepath.Glob("testdata/typed/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { testPolicy(t, file, policy.Options{Schemas: newKinds(t)}) })
	}
}

// TestFunctions is the same with functions of Go.
func TestFunctions(t *testing.T) {
	files, err := filepath.Glob("testdata/functions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { testPolicy(t, file, policy.Options{Functions: acme(t)}) })
	}
}

const separator = "\n----\n"

func testPolicy(t *testing.T, file string, options policy.Options) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input, want, _ := strings.Cut(string(data), separator)
	got := outcome(input+"\n", options)
	if strings.Contains(got, "this is no YAML") != strings.HasPrefix(filepath.Base(file), "broken-yaml") {
		t.Fatalf("only cases called broken-yaml… are no YAML:\n%s", got)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(input+separator+got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got; review, then run with -rewrite:\n%s", diff)
	}
}

// outcome is what Parse and CompileWith make of a file, as text.
func outcome(text string, options policy.Options) string {
	var b strings.Builder
	documents, err := syntax.Parse("policy.yaml", []byte(text))
	if err != nil {
		b.WriteString(err.Error() + "\n")
	}
	for _, d := range documents {
		program, err := policy.CompileWith(d, options)
		if err != nil {
			b.WriteString(err.Error() + "\n")
			continue
		}
		b.WriteString(dump(program))
	}
	return b.String()
}
