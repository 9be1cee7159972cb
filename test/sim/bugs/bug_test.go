package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	rootHere   = "../../.."
	folderHere = "../testdata/bugs"
)

// TestBugsApply: the code of each bug is where the bug says, exactly once.
func TestBugsApply(t *testing.T) {
	const want = 20
	bugs, err := Read(folderHere, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	if len(bugs) < want {
		t.Errorf("there are %d bugs, and should be at least %d", len(bugs), want)
	}
	for _, b := range bugs {
		if _, err := b.Apply(rootHere); err != nil {
			t.Error(err)
		}
	}
}

// TestBugsExpectInvariants: what each bug is to break is the name of an invariant.
func TestBugsExpectInvariants(t *testing.T) {
	bugs, err := Read(folderHere, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../faultplan/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the invariants are not there: %v", err)
	}
	files = append(files, "../plans_test.go", "../made_plans_test.go", "../made_judge_test.go", "../timed_plans_test.go", "../timed_judge_test.go")
	called := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?:violated(?:Locked)?\(|Invariant: )"([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			called[found[1]] = true
		}
	}
	for _, b := range bugs {
		for _, name := range b.Expects {
			if !called[name] {
				t.Errorf("bug %q: no invariant is called %q", b.Name, name)
			}
		}
	}
}

const example = `A condition is dropped:
it is never checked.
expects: rest, what should be is there
test: TestMadePlans

-- a.go --
<<<<
	if ok {
		return
	}
====
	return
>>>>
<<<<
x
====
>>>>

-- b/c.go --
<<<<
y
====
z
>>>>
`

func TestParse(t *testing.T) {
	got, err := Parse("example", example)
	if err != nil {
		t.Fatal(err)
	}
	want := &Bug{
		Name: "example", What: "A condition is dropped: it is never checked.",
		Expects: []string{"rest", "what should be is there"},
		Test:    "TestMadePlans",
		Edits: []Edit{
			{Path: "a.go", Old: "\tif ok {\n\t\treturn\n\t}\n", New: "\treturn\n"},
			{Path: "a.go", Old: "x\n"},
			{Path: "b/c.go", Old: "y\n", New: "z\n"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"NoSentence": {"-- a.go --\n<<<<\nx\n====\ny\n>>>>\n", "a sentence"},
		"NoEdit":     {"A slip.\n", "an edit is missing"},
		"NoEnd":      {"A slip.\n-- a.go --\n<<<<\nx\n====\ny\n", "the text ends after ===="},
		"NoChange":   {"A slip.\n-- a.go --\n<<<<\nx\n====\nx\n>>>>\n", "changes nothing"},
		"NoTest":     {"A slip.\ntest: TestNothing\n-- a.go --\n<<<<\nx\n====\ny\n>>>>\n", "no plans are run by"},
		"Stray":      {"A slip.\n-- a.go --\nx\n", "line 3"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("x", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestApply(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a.go")
	if err := os.WriteFile(file, []byte("x\nax\nx := 1\ntwice\ntwice\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ old, want, err string }{
		"WholeLine": {old: "x\n", want: "new\nax\nx := 1\ntwice\ntwice\n"},
		"Moved":     {old: "z\n", err: "the text is not in a.go any more"},
		"Twice":     {old: "twice\n", err: "the text is 2 times in a.go"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			files, err := (&Bug{Name: "x", Edits: []Edit{{Path: "a.go", Old: c.old, New: "new\n"}}}).Apply(root)
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an error with %q", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case files["a.go"] != c.want:
				t.Errorf("got %q, want %q", files["a.go"], c.want)
			}
		})
	}
}

func TestVerdictOf(t *testing.T) {
	const caught = "caught after 12 plans: seed 4711: rest | requests are paced\n"
	cases := map[string]struct {
		out  string
		want verdict
	}{
		"Caught":  {"=== RUN TestPlans\n" + caught + "FAIL\n", verdict{caught: true, plans: 12, seed: "4711", invariants: "rest | requests are paced"}},
		"Escaped": {"ok\nPASS\n", verdict{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := verdictOf(c.out); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestBreaks(t *testing.T) {
	cases := map[string]struct {
		expects  []string
		violated string
		want     string
	}{
		"Any":    {nil, "rest | requests are paced", "rest"},
		"Second": {[]string{"requests are paced"}, "rest | requests are paced", "requests are paced"},
		"None":   {[]string{"a child keeps its owner"}, "rest | requests are paced", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (&Bug{Expects: c.expects}).breaks(c.violated); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
