package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
)

// TestPolicyGoldens: all golden tests of the policies, as `ambit test examples` runs
// them in the folder of the repository.
func TestPolicyGoldens(t *testing.T) {
	t.Chdir("../..")
	code, out, stderr := ambitSays(t, "test", "examples")
	if code != 0 {
		t.Errorf("ambit test: exit code %d\n%s%s", code, out, stderr)
	}
}

// TestPolicyExamples: what README promises for each policy is there, and the policy
// has no mistake.
func TestPolicyExamples(t *testing.T) {
	files, err := filepath.Glob("../../policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			if code, out, stderr := ambitSays(t, "validate", "-f", file); code != 0 {
				t.Errorf("ambit validate: exit code %d\n%s%s", code, out, stderr)
			}
			for _, pattern := range []string{"sample*.yaml", "rbac.yaml", "tests/test.yaml", "tests/*/owner.yaml", "tests/*/plan.txt", "tests/*/status.yaml"} {
				if found, err := filepath.Glob(filepath.Join(exampleOf(name), pattern)); err != nil || len(found) == 0 {
					t.Errorf("there is no examples/%s/%s", name, pattern)
				}
			}
		})
	}
}

// ambitSays runs the command line.
func ambitSays(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: &out, ErrOut: &errOut}
	code = cli.Main(t.Context(), append([]string{"ambit"}, args...), streams)
	return code, out.String(), errOut.String()
}
