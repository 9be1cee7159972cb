package stories

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildAmbit builds the binary, and returns its path.
func buildAmbit(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ambit")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../../cmd/ambit")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building ambit: %v\n%s", err, out)
	}
	return path
}

// runBinary runs the Memcached policy by a binary as the story's user, until
// kill is called, which gives it no chance to clean up, or the test ends.
func (w *world) runBinary(binary string, namespaces []string) (kill func()) {
	w.t.Helper()
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := w.control.Kubeconfig(w.control.User(w.user), kubeconfig); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "-f", "../../policies/memcached.yaml",
		"--namespaces", strings.Join(namespaces, ","), "--kubeconfig", kubeconfig)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatalf("starting ambit: %v", err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		if err := cmd.Process.Kill(); err != nil {
			w.t.Errorf("killing ambit: %v; it said:\n%s", err, out.String())
		}
		_ = cmd.Wait() // it says that the process was killed, as it should be
	}
	w.t.Cleanup(kill)
	return kill
}
