// Package ambitbinary builds the program that tests run.
package ambitbinary

import (
	"fmt"
	"os"
	"os/exec"
)

// Build compiles cmd/ambit of sources, a folder with a go.mod, into the file path, which is absolute. It does so as
// `make build` does, with `devel` for the version: what is tested is what is shipped, and what is compiled already is
// used, wherever the sources are.
func Build(sources, path string) error {
	cmd := exec.Command("go", arguments(path)...)
	cmd.Dir, cmd.Env = sources, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building ambit: %w\n%s", err, output)
	}
	return nil
}

// arguments are those of go. The Makefile says why they are what they are.
func arguments(path string) []string {
	return []string{
		"build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X github.com/ambit-dev/ambit/pkg/internal/version.version=devel",
		"-gcflags=k8s.io/api/...=-l -d=wrapglobalmapctl=2",
		"-gcflags=k8s.io/apiextensions-apiserver/...=-l -d=wrapglobalmapctl=2",
		"-o", path, "./cmd/ambit",
	}
}
