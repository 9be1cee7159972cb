package suites

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// upstream is the module whose suites are run.
const upstream = "sigs.k8s.io/controller-runtime"

// module is a copy of upstream in a temporary folder that Ambit is built with.
type module struct {
	root string // of Ambit's repository
	dir  string // of the copy, which may be written to
	file string // a go.mod that is Ambit's, but for the replacement of upstream by dir
}

// newModule makes the copy and its go.mod in the folder temp, which is empty. It downloads the
// module first if it is not in the module cache.
func newModule(ctx context.Context, root, temp string) (*module, error) {
	m := &module{root: root, dir: filepath.Join(temp, "controller-runtime"), file: filepath.Join(temp, "go.mod")}
	if _, err := m.goCommand(ctx, "mod", "download", upstream); err != nil {
		return nil, err
	}
	source, err := m.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", upstream)
	if err != nil {
		return nil, err
	}
	source = strings.TrimSpace(source)
	if err := os.CopyFS(m.dir, os.DirFS(source)); err != nil {
		return nil, fmt.Errorf("copying %s: %w", upstream, err)
	}
	if err := m.writeSums(source); err != nil {
		return nil, err
	}
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("reading Ambit's go.mod: %w", err)
	}
	if err := os.WriteFile(m.file, own, 0o644); err != nil {
		return nil, fmt.Errorf("writing a go.mod: %w", err)
	}
	_, err = m.goCommand(ctx, "mod", "edit", "-replace", upstream+"="+m.dir, m.file)
	return m, err
}

// writeSums writes a go.sum with the lines of Ambit's and of upstream's. Each is needed: a version
// is chosen by one of the two go.mod files, and has its checksum in the go.sum beside it.
func (m *module) writeSums(source string) error {
	var sums bytes.Buffer
	for _, dir := range []string{m.root, source} {
		data, err := os.ReadFile(filepath.Join(dir, "go.sum"))
		if err != nil {
			return fmt.Errorf("reading checksums: %w", err)
		}
		sums.Write(bytes.TrimSpace(data))
		sums.WriteByte('\n')
	}
	if err := os.WriteFile(strings.TrimSuffix(m.file, ".mod")+".sum", sums.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing checksums: %w", err)
	}
	return nil
}

// build builds the tests of a package of the copy, given by its path in the module. Without paths
// in what is built (-trimpath), the next run finds it in Go's build cache though its folder is another. What only
// a debugger reads is left out, as go test does by itself: it was a third of the time of linking.
func (m *module) build(ctx context.Context, pkg, out string) error {
	args := []string{"test", "-c", "-ldflags=-s -w", "-modfile=" + m.file, "-mod=mod", "-trimpath", "-vet=off", "-o", out}
	if raced {
		args = append(args, "-race")
	}
	_, err := m.goCommand(ctx, append(args, upstream+"/"+pkg)...)
	return err
}

// goCommand runs the go command in Ambit's repository and returns what it prints.
func (m *module) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = m.root
	// A workspace would forbid -modfile.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}
