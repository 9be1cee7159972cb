package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks: a relative link leads to a file or folder, and to a heading of it.
func TestLinks(t *testing.T) {
	links := 0
	for _, document := range documents(t) {
		for _, target := range linksIn(read(t, document)) {
			links++
			if problem := follow(t, document, target); problem != "" {
				t.Errorf("%s: link to %s: %s", document, target, problem)
			}
		}
	}
	if links < 20 {
		t.Errorf("found only %d links", links)
	}
}

// linksIn are the targets of the relative links in a document.
func linksIn(document string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(unfenced(document), -1) {
		if !strings.Contains(match[1], "://") && !strings.HasPrefix(match[1], "mailto:") {
			found = append(found, match[1])
		}
	}
	return found
}

// unfenced is a document without its code blocks.
func unfenced(document string) string {
	return regexp.MustCompile("(?s)\n```.*?\n```").ReplaceAllString(document, "")
}

// follow says what is wrong with a link, "" if nothing.
func follow(t *testing.T, from, target string) string {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	at := from
	if file != "" {
		at = path.Join(path.Dir(from), file)
	}
	if _, err := os.Stat(filepath.Join(root, at)); err != nil {
		return "there is no such file"
	}
	if anchor != "" && !anchors(read(t, at))[anchor] {
		return "there is no such heading"
	}
	return ""
}

// anchors are those of a document: its own, and those that GitHub makes of headings.
func anchors(document string) map[string]bool {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`<a id="([^"]+)"`).FindAllStringSubmatch(document, -1) {
		found[match[1]] = true
	}
	for _, s := range sections(document) {
		slug := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(s.title), "")
		found[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return found
}

// TestFilesNamed: each Go file that the guides for contributors name is somewhere.
func TestFilesNamed(t *testing.T) {
	there := map[string]bool{}
	for _, folder := range []string{"cmd", "hack", "pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, _ os.DirEntry, err error) error {
			there[path.Base(filepath.ToSlash(file))] = true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, guide := range []string{"CONTRIBUTING.md", "ARCHITECTURE.md"} {
		named := regexp.MustCompile("`(?:[a-z0-9_./]+/)?([a-z0-9_]+\\.go)`").FindAllStringSubmatch(read(t, guide), -1)
		for _, file := range named {
			if !there[file[1]] {
				t.Errorf("%s names %s, and there is no such file", guide, file[0])
			}
		}
		if len(named) == 0 {
			t.Errorf("no file was found in %s: the test would pass for nothing", guide)
		}
	}
}
