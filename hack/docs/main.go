// Command docs writes docs/policy.md: every field of a policy, with what its Go
// type says of it and an example that a test runs. It is called by `make generate`,
// in the root of the repository.
//
// Its sources are the files *_types.go in pkg/api/v1alpha1, the examples in
// docs/examples and intro.md beside this file. It refuses to write when a field has no
// comment or no example, or an example has no field.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
)

// intro is what comes before the fields. `<!-- example NAME -->` stands for an
// example.
//
//go:embed intro.md
var intro string

func main() {
	types := flag.String("types", "pkg/api/v1alpha1", "folder with the types, in files *_types.go")
	examples := flag.String("examples", "docs/examples", "folder with the examples")
	out := flag.String("out", "docs/policy.md", "file to write")
	flag.Parse()
	if err := run(*types, *examples, *out); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(types, examples, out string) error {
	source, err := readTypes(types)
	if err != nil {
		return fmt.Errorf("reading the types: %w", err)
	}
	fields, err := source.fields("ReconcilePolicySpec", "")
	if err != nil {
		return fmt.Errorf("reading the types: %w", err)
	}
	found, err := readExamples(examples)
	if err != nil {
		return fmt.Errorf("reading the examples: %w", err)
	}
	page, err := write(intro, fields, found)
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	return os.WriteFile(out, page, 0o644)
}
