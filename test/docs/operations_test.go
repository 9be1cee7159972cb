package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFlags: docs/operations.md has each flag of the operator, in backticks.
func TestFlags(t *testing.T) {
	page := read(t, "docs/operations.md")
	flags := flagsIn(help(t, "run"))
	if len(flags) < 20 {
		t.Fatalf("found only these flags: %v", flags)
	}
	for _, flag := range flags {
		if !regexp.MustCompile("`" + regexp.QuoteMeta(flag) + "[`= ]").MatchString(page) {
			t.Errorf("docs/operations.md does not have the flag %s of `ambit run`", flag)
		}
	}
	for _, found := range regexp.MustCompile("(?m)^\\| `(--[a-z0-9-]+)").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(flags, found[1]) {
			t.Errorf("docs/operations.md has a row about %s, which `ambit run` does not have", found[1])
		}
	}
}

// flagsIn are the long flags in a help text.
func flagsIn(text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z0-9-]+)`).FindAllStringSubmatch(text, -1) {
		if match[1] != "--help" {
			found = append(found, match[1])
		}
	}
	return found
}

// TestMetrics: docs/operations.md has each metric that there is, and no other.
func TestMetrics(t *testing.T) {
	page := read(t, "docs/operations.md")
	metrics := map[string]bool{}
	isName := regexp.MustCompile(`^ambit_[a-z0-9_]+$`)
	for _, file := range sources(t, "pkg") {
		texts(file, func(text string) {
			if isName.MatchString(text) {
				metrics[text] = true
			}
		})
	}
	if len(metrics) < 5 {
		t.Fatalf("found only these metrics: %v", metrics)
	}
	for name := range metrics {
		if !strings.Contains(page, "`"+name) {
			t.Errorf("docs/operations.md does not have the metric %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`\bambit_[a-z0-9_]+`).FindAllString(page, -1) {
		if bare := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); !metrics[name] && !metrics[bare] {
			t.Errorf("docs/operations.md has the metric %s, which there is not", name)
		}
	}
}
