package install

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// kubectl runs kubectl as config says, nil for no cluster, with input on its standard
// input, and returns what it prints.
func kubectl(t *testing.T, config *rest.Config, input []byte, args ...string) (string, error) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if config != nil {
		if err := control.Kubeconfig(config, kubeconfig); err != nil {
			t.Fatal(err)
		}
	}
	return command(t, input, program(t, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
}

// program returns the path of one of the pinned tools.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no bin/%s: run make bin/%s", name, name)
	}
	return path
}

// build returns the path of ambit as it is in the sources.
func build(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a program. Its environment says nothing of another cluster.
func command(t *testing.T, input []byte, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=")
	cmd.Stdin = bytes.NewReader(input)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	return output.String(), err
}

// must is for what has to succeed.
func must(t *testing.T) func(output string, err error) string {
	t.Helper()
	return func(output string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return output
	}
}
