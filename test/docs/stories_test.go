package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestStories: each story of test/e2e is told of a promise, and each section of docs/concepts.md has a
// story there, or is named as one that is held elsewhere.
func TestStories(t *testing.T) {
	page := read(t, "test/e2e/README.md")
	var stories []string
	files, err := filepath.Glob(filepath.Join(root, "test/e2e/*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(string(text), -1) {
			stories = append(stories, found[1])
		}
	}
	if len(stories) < 50 {
		t.Fatalf("found only these stories: %v", stories)
	}
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \|.* \| (Test[\w, ]+) \|$`).FindAllStringSubmatch(page, -1)
	var sections, told []string
	for _, row := range rows {
		sections, told = append(sections, row[1]), append(told, strings.Split(row[2], ", ")...)
	}
	for _, found := range regexp.MustCompile(`(?m)^\| [^|]+ \| (Test[\w, ]+) \|$`).FindAllStringSubmatch(page, -1) {
		told = append(told, strings.Split(found[1], ", ")...)
	}
	for _, story := range stories {
		if !slices.Contains(told, story) {
			t.Errorf("test/e2e/README.md does not say which promise %s tells", story)
		}
	}
	for _, name := range regexp.MustCompile(`(?m)^(?:LONG|MEASURED) := \^Test\((.*)\)\$\$$`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		for _, story := range strings.Split(name[1], "|") {
			told = append(told, "Test"+story)
		}
	}
	for _, story := range told {
		if !slices.Contains(stories, story) {
			t.Errorf("test/e2e/README.md or the Makefile names %s, which is no story", story)
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^(?:#+ (.+)|(?:- )?\*\*(.+?)\.\*\*.*)$`).FindAllStringSubmatch(read(t, "docs/concepts.md"), -1) {
		section := found[1] + found[2]
		if section == "Concepts" || section == "What is not there yet" || slices.Contains(sections, section) {
			continue
		}
		if _, excused, _ := strings.Cut(page, "No story tells these:"); !strings.Contains(excused, "`"+section+"`") {
			t.Errorf("docs/concepts.md has the section %q, and test/e2e/README.md no story of it", section)
		}
	}
}
