package syntax_test

import (
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func TestIsFileName(t *testing.T) {
	for name, want := range map[string]bool{
		"a.yaml": true, "a.yml": true, ".yaml": true, "a.json.yml": true, // hidden or not is for the caller
		"": false, "yaml": false, "a.YAML": false, "a.json": false, "a.yaml~": false, "a.yaml.swp": false,
	} {
		if got := syntax.IsFileName(name); got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
}
