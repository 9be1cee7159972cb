package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ambit-dev/ambit/test/ambitbinary"
)

// built builds the binary once, when a story first needs it, and returns its path.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builtFolder(), "ambit")
	return path, ambitbinary.Build("../..", path)
})

// builtFolder is for this process alone. TestMain removes it.
func builtFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("ambit-stories-%d", os.Getpid()))
}

// buildAmbit returns the path of the binary, the same to all stories.
func buildAmbit(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
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
