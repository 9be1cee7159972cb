package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// FuzzCompile: no text makes Parse, Compile or Salvage panic; every mistake is at a
// place of the text; what compiles, compiles again to the same program, also below a
// comment; of what does not compile the same is wrong below a comment, a line on; and what
// is known of kinds only refuses.
func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	typed, failed := filepath.Glob("testdata/typed/*.txt")
	if err != nil || failed != nil {
		f.Fatal(err, failed)
	}
	for _, file := range append(files, typed...) {
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
		before := outcomes(t, text)
		if diff := cmp.Diff(before, outcomes(t, text), unexported); diff != "" {
			t.Fatalf("a second time it is another (-want +got):\n%s", diff)
		}
		if strings.HasPrefix(text, "\ufeff") || before[0].wrong != nil {
			return // that mark stands at the beginning only; what is no YAML has no one place
		}
		if diff := cmp.Diff(before, shifted(outcomes(t, "# why\n"+text)), unexported); diff != "" {
			t.Fatalf("below a comment it is another (-want +got):\n%s", diff)
		}
	})
}

// outcomes are what comes of each document: its program, or what is wrong.
func outcomes(t *testing.T, text string) []outcomeOf {
	documents, err := syntax.Parse("x.yaml", []byte(text))
	out := []outcomeOf{{wrong: checkPlaces(t, text, err)}}
	for _, d := range documents {
		program, err := policy.Compile(d)
		next := outcomeOf{wrong: checkPlaces(t, text, err)}
		if err == nil {
			next.program = program.Hash + "\n" + dump(program)
		}
		typed, refused := policy.CompileWith(d, policy.Options{Schemas: newKinds(t)})
		checkPlaces(t, text, refused)
		if refused == nil && (err != nil || dump(typed) != dump(program)) {
			t.Fatalf("what is known of kinds makes another program of it: %v", err)
		}
		salvaged, failed := policy.Salvage(d)
		checkPlaces(t, text, failed)
		switch {
		case failed == nil && (salvaged.Name != d.Name() || salvaged.Namespace != d.Namespace() || salvaged.CleanupOnly == nil):
			t.Fatalf("of %s/%s is salvaged: %s", d.Namespace(), d.Name(), dump(salvaged))
		case failed != nil && err == nil:
			t.Fatalf("it compiles, but nothing can be salvaged: %v", failed)
		}
		out = append(out, next)
	}
	return out
}

// outcomeOf is the program of a document as text, or what is wrong.
type outcomeOf struct {
	program string
	wrong   []place
}

// place is where something is wrong, with what is said but for its numbers: a
// message can name lines.
type place struct {
	line, column int
	message      string
}

// shifted takes a line away from each place.
func shifted(list []outcomeOf) []outcomeOf {
	for i := range list {
		for k := range list[i].wrong {
			list[i].wrong[k].line--
		}
	}
	return list
}

var unexported = cmp.AllowUnexported(outcomeOf{}, place{})

var number = regexp.MustCompile(`[0-9]+`)

// checkPlaces fails unless every mistake stands within the text, with its line, and
// returns where they are.
func checkPlaces(t *testing.T, text string, err error) []place {
	t.Helper()
	if err == nil {
		return nil
	}
	var out []place
	var all syntax.Errors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("got %T, want syntax.Errors", err)
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
		out = append(out, place{line: e.Line, column: e.Column, message: number.ReplaceAllString(e.Message, "0")})
	}
	return out
}
