package cli_test

import (
	"bytes"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
)

// TestDocs: the examples of docs/policy.md have no mistakes, and come to what stands
// beside them.
func TestDocs(t *testing.T) {
	for _, args := range [][]string{
		{"ambit", "validate", "-f", "../../docs/examples"},
		{"ambit", "test", "../../docs/examples/tests"},
	} {
		var out, errOut bytes.Buffer
		streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}
		if code := cli.Main(t.Context(), args, streams); code != 0 {
			t.Errorf("%v: exit code %d, want 0\n%s%s", args, code, &out, &errOut)
		}
	}
}
