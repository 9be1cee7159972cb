package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// notes are what Helm says when the chart has been installed.
func notes(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := command(t, nil, program(t, "helm"), "install", "ambit", root+"/charts/ambit", "--namespace", "team-c", "--dry-run=client", "--values", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	_, said, _ := strings.Cut(output, "\nNOTES:\n")
	return said
}

// TestNotes: what Helm says names the image that runs, and a command that prints rights
// where this Ambit works, and nowhere else.
func TestNotes(t *testing.T) {
	for values, want := range map[string]string{
		"mode: namespaced\nimage: {repository: example.com/ambit, tag: v1}": "image example.com/ambit:v1\n",
		"":                           "image ambit:latest\n",
		"mode: namespaced":           "ambit rbac -f POLICY --service-account team-c/ambit --namespaces team-c --missing\n",
		"namespaces: [a, b]":         "ambit rbac -f POLICY --service-account team-c/ambit --namespaces a,b --missing\n",
		"mode: cluster":              "ambit rbac -f POLICY --service-account team-c/ambit --missing\n",
		"serviceAccount: {name: me}": "ambit rbac -f POLICY --service-account team-c/me --missing\n",
	} {
		if said := notes(t, values); !strings.Contains(said, want) {
			t.Errorf("%q: the notes do not have %q:\n%s", values, want, said)
		}
	}
}
