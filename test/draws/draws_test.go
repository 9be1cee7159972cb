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
		const draws, fewer = "github.com/ambit-dev/ambit/test/draws", "github.com/ambit-dev/ambit/test/draws/fewer"
		if !slices.Contains(imports, draws) && !slices.Contains(imports, fewer) {
			t.Errorf("the tests of %s import pgregory.net/rapid, and neither _ %q nor _ %q", imports[0], draws, fewer)
		}
	}
	if found == 0 {
		t.Error("no package has properties: the test would pass for nothing")
	}
}
