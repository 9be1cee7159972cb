package draws

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImported: no package has properties whose cases change from run to run.
func TestImported(t *testing.T) {
	const format = `{{.ImportPath}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", format, "github.com/ambit-dev/ambit/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		if !slices.Contains(imports, "pgregory.net/rapid") {
			continue
		}
		found++
		if !slices.Contains(imports, "github.com/ambit-dev/ambit/test/draws") {
			t.Errorf("the tests of %s import pgregory.net/rapid, and not _ %q", imports[0], "github.com/ambit-dev/ambit/test/draws")
		}
	}
	if found == 0 {
		t.Error("no package has properties: the test would pass for nothing")
	}
}
