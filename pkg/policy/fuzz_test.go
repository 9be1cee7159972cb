package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// FuzzCompile: no text makes Parse or Compile panic; every mistake is at a place
// of the text; what compiles, compiles again to the same hash.
func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		text, _, _ := strings.Cut(string(data), separator)
		f.Add(text)
	}
	f.Add("\ufeffa: b\r\n\r\nc: [\r\n")
	f.Add("a: \xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := policy.Parse("x.yaml", []byte(text))
		checkPlaces(t, text, err)
		for _, d := range documents {
			program, err := policy.Compile(d)
			checkPlaces(t, text, err)
			if err != nil {
				continue
			}
			again, err := policy.Compile(d)
			if err != nil || again.Hash != program.Hash || dump(again) != dump(program) {
				t.Fatalf("a second time it compiles to another program: %v", err)
			}
		}
	})
}

// checkPlaces says whether every mistake stands within the text, with its line.
func checkPlaces(t *testing.T, text string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var all policy.Errors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("got %T, want policy.Errors", err)
	}
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	for _, e := range all {
		if e.Line < 1 || e.Line > len(lines) {
			t.Fatalf("line %d of %d: %s", e.Line, len(lines), e.Message)
		}
		if line := strings.TrimSuffix(lines[e.Line-1], "\r"); line != e.SourceLine {
			t.Fatalf("line %d is %q, the mistake says %q", e.Line, line, e.SourceLine)
		}
		if e.Column < 1 || e.Column > utf8.RuneCountInString(lines[e.Line-1])+1 {
			t.Fatalf("column %d in %q: %s", e.Column, e.SourceLine, e.Message)
		}
	}
}
