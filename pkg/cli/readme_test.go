package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
)

// TestReadme holds README.md to what it shows: its policy has no mistake, and the
// mistake that it prints is what such a mistake looks like.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)
	_, after, _ := strings.Cut(readme, "```yaml\n")
	policy, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("README.md has no policy")
	}

	if code, stdout := validate(t, policy); code != 0 {
		t.Errorf("The policy in README.md is not valid: exit code %d\n%s", code, stdout)
	}
	code, stdout := validate(t, strings.Replace(policy, "replicas: ${owner", "replicas: ${onwer", 1))
	if want := strings.ReplaceAll(stdout, "<stdin>", "policy.yaml"); code != 1 || !strings.Contains(readme, want) {
		t.Errorf("README.md shows another mistake than this: exit code %d\n%s", code, want)
	}
}

// validate runs `ambit validate` on a policy.
func validate(t *testing.T, policy string) (code int, stdout string) {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(policy), Out: &out, ErrOut: &errOut}
	code = cli.Main(t.Context(), []string{"ambit", "validate", "-f", "-"}, streams)
	return code, out.String()
}
