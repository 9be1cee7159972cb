package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAlerts: docs/operations.md has each alert, and no other, and what an alert says to
// type is a command that there is.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "manifests/monitoring/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	var alerts []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			alerts = append(alerts, rule.Alert)
			for _, line := range commandsIn(rule.Annotations["description"]) {
				if help(t, line[0]) == "" {
					t.Errorf("alert %s: there is no command `ambit %s`", rule.Alert, line[0])
				}
			}
		}
	}
	if len(alerts) < 5 {
		t.Fatalf("found only these alerts: %v", alerts)
	}
	page := read(t, "docs/operations.md")
	for _, alert := range alerts {
		if !strings.Contains(page, "\n| `"+alert+"` |") {
			t.Errorf("docs/operations.md does not have the alert %s", alert)
		}
	}
	for _, found := range regexp.MustCompile("(?m)^\\| `(Ambit[A-Za-z]+)` ").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(alerts, found[1]) {
			t.Errorf("docs/operations.md has the alert %s, which there is not", found[1])
		}
	}
}
