package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Bug is a slip that a programmer might make, as edits of the code.
type Bug struct {
	// Name is that of the file, without .txt.
	Name string
	// What says what the slip is.
	What string
	// Expects are the invariants of which one is to be violated; empty: any.
	Expects []string
	// Test is the test that runs plans, one of planTests.
	Test string
	// Edits are in the order of the text.
	Edits []Edit
}

// planTest is how a test of package sim is told which plans to run: the flags for how many, and for the seed of a single one.
type planTest struct {
	count, seed string
	// scenarios: it chooses between policies.
	scenarios bool
	// most bounds how many plans are run, for those that take long; 0: nothing does.
	most int
}

// plansOfFaults is the test of bugs that name none.
const plansOfFaults = "TestPlans"

// planTests are the tests that run plans, by their names.
func planTests() map[string]planTest {
	return map[string]planTest{
		plansOfFaults:    {count: "-plans", seed: "-seed", scenarios: true},
		"TestMadePlans":  {count: "-made-plans", seed: "-made-seed", most: 300},
		"TestTimedPlans": {count: "-timed-plans", seed: "-timed-seed", most: 300},
	}
}

// Edit replaces a text that is in a file exactly once.
type Edit struct {
	// Path is that of the file, from the root of the module, with slashes.
	Path     string
	Old, New string
}

// Lines of the form.
const (
	beginOld   = "<<<<"
	beginNew   = "===="
	endNew     = ">>>>"
	expectsTag = "expects:"
	testTag    = "test:"
)

var fileLine = regexp.MustCompile(`^-- (\S+) --$`)

// Parse reads the text of a bug.
func Parse(name, text string) (*Bug, error) {
	b := &Bug{Name: name, Test: plansOfFaults}
	var what []string
	var path, within string
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		found := fileLine.FindStringSubmatch(line)
		switch {
		case line == beginOld && within == "" && path != "":
			b.Edits, within = append(b.Edits, Edit{Path: path}), beginOld
		case line == beginNew && within == beginOld:
			within = beginNew
		case line == endNew && within == beginNew:
			within = ""
		case within == beginOld:
			b.Edits[len(b.Edits)-1].Old += line + "\n"
		case within == beginNew:
			b.Edits[len(b.Edits)-1].New += line + "\n"
		case found != nil:
			path = found[1]
		case path == "" && strings.HasPrefix(line, expectsTag):
			for invariant := range strings.SplitSeq(strings.TrimPrefix(line, expectsTag), ",") {
				b.Expects = append(b.Expects, strings.TrimSpace(invariant))
			}
		case path == "" && strings.HasPrefix(line, testTag):
			b.Test = strings.TrimSpace(strings.TrimPrefix(line, testTag))
		case path == "" || strings.TrimSpace(line) == "":
			what = append(what, strings.TrimSpace(line))
		default:
			return nil, fmt.Errorf("bug %q, line %d: %q is neither %s, %s, %s nor the name of a file", name, i+1, line, beginOld, beginNew, endNew)
		}
	}
	b.What = strings.TrimSpace(strings.Join(what, " "))
	return b, b.check(within)
}

func (b *Bug) check(within string) error {
	switch {
	case within != "":
		return fmt.Errorf("bug %q: the text ends after %s", b.Name, within)
	case b.What == "":
		return fmt.Errorf("bug %q: a sentence that says what it is is missing", b.Name)
	case len(b.Edits) == 0:
		return fmt.Errorf("bug %q: an edit is missing", b.Name)
	}
	if _, ok := planTests()[b.Test]; !ok {
		return fmt.Errorf("bug %q: no plans are run by a test %q", b.Name, b.Test)
	}
	for _, e := range b.Edits {
		if e.Old == "" || e.Old == e.New {
			return fmt.Errorf("bug %q: an edit of %s changes nothing", b.Name, e.Path)
		}
	}
	return nil
}

// breaks is the first of the violated invariants that is expected; empty: none is.
func (b *Bug) breaks(violated string) string {
	for invariant := range strings.SplitSeq(violated, between) {
		if len(b.Expects) == 0 || slices.Contains(b.Expects, invariant) {
			return invariant
		}
	}
	return ""
}

// Read reads the bugs of a folder whose names match, by name.
func Read(folder string, names *regexp.Regexp) (bugs []*Bug, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("finding bugs: %w", err)
	}
	slices.Sort(files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if !names.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a bug: %w", err)
		}
		bug, err := Parse(name, string(text))
		if err != nil {
			return nil, err
		}
		bugs = append(bugs, bug)
	}
	return bugs, nil
}

// Apply returns the files that the bug changes, as they are then, by their paths from the
// root of the module. It changes nothing.
func (b *Bug) Apply(root string) (map[string]string, error) {
	files := map[string]string{}
	var problems []error
	for _, e := range b.Edits {
		text, ok := files[e.Path]
		if !ok {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.Path)))
			if err != nil {
				problems = append(problems, fmt.Errorf("bug %q: %w", b.Name, err))
				continue
			}
			text = string(content)
		}
		switch found := e.find(text); len(found) {
		case 1:
			files[e.Path] = text[:found[0]] + e.New + text[found[0]+len(e.Old):]
		case 0:
			problems = append(problems, fmt.Errorf("bug %q: the text is not in %s any more; copy the lines as they are now:\n%s", b.Name, e.Path, e.Old))
		default:
			problems = append(problems, fmt.Errorf("bug %q: the text is %d times in %s; add a line before or after it:\n%s", b.Name, len(found), e.Path, e.Old))
		}
	}
	return files, errors.Join(problems...)
}

// find returns where the old text begins, as whole lines.
func (e Edit) find(text string) (starts []int) {
	for at := 0; ; {
		if strings.HasPrefix(text[at:], e.Old) {
			starts = append(starts, at)
		}
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return starts
		}
		at += next + 1
	}
}

// WriteOverlay writes the files of Apply into a folder, and what `go build -overlay` reads.
// It returns the name of the latter.
func WriteOverlay(root, folder string, files map[string]string) (string, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range files {
		own := filepath.Join(folder, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("writing a file with a bug: %w", err)
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(path))] = own
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", fmt.Errorf("encoding an overlay: %w", err)
	}
	name := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return "", fmt.Errorf("writing an overlay: %w", err)
	}
	return name, nil
}
