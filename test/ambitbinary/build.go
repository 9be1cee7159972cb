// Package ambitbinary builds the program that tests run.
package ambitbinary

import (
	"fmt"
	"os"
	"os/exec"
)

// apiTypes are the compiler's flags for the API groups' types. The Makefile says why.
var apiTypes = []string{
	"-gcflags=k8s.io/api/...=-l -d=wrapglobalmapctl=2",
	"-gcflags=k8s.io/apiextensions-apiserver/...=-l -d=wrapglobalmapctl=2",
}

// Build builds it from sources, a folder with a go.mod, as `make build` does: what is tested is what is shipped,
// and what is compiled already is used, wherever the sources are.
func Build(sources, path string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path}, apiTypes...)
	cmd := exec.Command("go", append(args, "./cmd/ambit")...)
	cmd.Dir, cmd.Env = sources, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building ambit: %w\n%s", err, output)
	}
	return nil
}
