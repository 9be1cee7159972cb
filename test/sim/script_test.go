package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// step is one operation of a script, with the answer that is expected.
type step struct {
	comment string // what stands above it
	line    string
	body    string
	want    string
	save    string // the name that its answer is kept under
	words   []string
	options map[string]string
}

// script is a file of testdata/fidelity.
type script struct {
	name  string
	path  string
	steps []step
}

// managed reports whether the script needs the controllers.
func (s *script) managed() bool { return strings.HasPrefix(s.name, "controllers_") }

func readScripts(t *testing.T) []*script {
	t.Helper()
	paths, err := filepath.Glob("testdata/fidelity/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no script: %v", err)
	}
	var all []*script
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseScript(strings.TrimSuffix(filepath.Base(path), ".txt"), string(data))
		if err != nil {
			t.Fatal(err)
		}
		s.path = path
		all = append(all, s)
	}
	return all
}

// parseScript reads steps that blank lines end: comments, a command, its body, "----"
// and the answer.
func parseScript(name, text string) (*script, error) {
	s := &script{name: name}
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		input, want, _ := strings.Cut(block, "\n----")
		next := step{want: strings.Trim(want, "\n")}
		lines := strings.Split(strings.Trim(input, "\n"), "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
			next.comment += lines[0] + "\n"
			lines = lines[1:]
		}
		if len(lines) == 0 {
			return nil, fmt.Errorf("script %q: step %d has no command", name, i+1)
		}
		next.line, next.body = lines[0], strings.Join(lines[1:], "\n")
		command, save, _ := strings.Cut(next.line, " => ")
		next.save, next.options = save, map[string]string{}
		for _, word := range strings.Fields(command) {
			if key, value, ok := strings.Cut(word, ":="); ok {
				next.options[key] = value
				continue
			}
			next.words = append(next.words, word)
		}
		s.steps = append(s.steps, next)
	}
	return s, nil
}

// format is the text of a script.
func (s *script) format() string {
	blocks := make([]string, len(s.steps))
	for i, st := range s.steps {
		text := st.comment + st.line + "\n"
		if st.body != "" {
			text += st.body + "\n"
		}
		blocks[i] = text + "----\n" + st.want
	}
	return strings.Join(blocks, "\n\n") + "\n"
}
