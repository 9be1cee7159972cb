package docs

import (
	"regexp"
	"strings"
	"testing"
)

// TestNamespaceLabels: the command that labels a namespace which Helm has made gives it
// the Pod Security labels of the manifests.
func TestNamespaceLabels(t *testing.T) {
	labels := regexp.MustCompile(`(pod-security\.kubernetes\.io/\w+): (\w+)`).FindAllStringSubmatch(read(t, "manifests/cluster/namespace.yaml"), -1)
	if len(labels) == 0 {
		t.Fatal("the namespace of the manifests has no Pod Security labels")
	}
	install := read(t, "docs/install.md")
	for _, label := range labels {
		if want := " " + label[1] + "=" + label[2]; !strings.Contains(install, want) {
			t.Errorf("docs/install.md does not give the label%s", want)
		}
	}
}
