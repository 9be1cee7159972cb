package names

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWalk: the functions that ARCHITECTURE.md names on the way of an event are in the files that it names,
// and are no more than somebody can follow.
func TestWalk(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readDeclared("../../pkg")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, d := range list {
		known[d.at.Filename+" "+strings.TrimPrefix(d.receiver+"."+d.name, ".")] = true
	}
	_, walk, _ := strings.Cut(string(text), "### The same by name\n")
	walk, _, _ = strings.Cut(walk, "\n## ")
	functions, files := 0, map[string]bool{}
	for _, found := range regexp.MustCompile("`([a-z_/]+\\.go)`: ((?:`[\\w.]+`(?:, )?)+)").FindAllStringSubmatch(walk, -1) {
		files[found[1]] = true
		for _, name := range strings.Split(found[2], ", ") {
			functions++
			if name = strings.Trim(name, "`"); !known[filepath.Join("../../pkg", found[1])+" "+name] {
				t.Errorf("ARCHITECTURE.md names %s in %s, where it is not", name, found[1])
			}
		}
	}
	if functions < 40 || functions > 60 || len(files) > 25 {
		t.Errorf("the way is %d functions in %d files, want at most 60 in 25, and all of it", functions, len(files))
	}
}
