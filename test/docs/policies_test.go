package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPolicyTrust checks that each shipped policy says at its top whom it trusts with what:
// who writes its owners, and what Ambit's account needs for it.
func TestPolicyTrust(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "policies", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("looking for policies: %v, found %d", err, len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(string(data), "\napiVersion:")
		_, trust, found := strings.Cut(top, "\n# Trust:\n")
		if !found {
			t.Errorf("%s does not say whom it trusts: a comment \"# Trust:\" above apiVersion is missing", file)
			continue
		}
		for _, want := range []string{"#   Who writes ", "#   Ambit's account "} {
			if !strings.Contains("\n"+trust, "\n"+want) {
				t.Errorf("%s: its trust has no line that begins with %q", file, want)
			}
		}
		for _, line := range strings.Split(top, "\n") {
			if !strings.HasPrefix(line, "#") {
				t.Errorf("%s: %q stands above apiVersion and is no comment", file, line)
			}
		}
	}
}
