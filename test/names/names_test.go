package names

import (
	"flag"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "take methods that are gone out of testdata/one-word.txt; it never adds one")

const knownFile = "testdata/one-word.txt"

// TestModule holds the rules against the module as it is.
func TestModule(t *testing.T) {
	list, err := readDeclared("../../pkg")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("no name was found: the test would pass for nothing")
	}
	known := slices.Sorted(strings.Lines(read(t, knownFile)))
	for i := range known {
		known[i] = strings.TrimSpace(known[i])
	}
	added, gone := compare(known, oneWordMethods(list))
	for _, name := range added {
		t.Errorf("%s: its type has more than %d methods, so that its name needs two words or more", name, manyMethods)
	}
	if *rewrite {
		known = slices.DeleteFunc(known, func(name string) bool { return slices.Contains(gone, name) })
		if err := os.WriteFile(knownFile, []byte(strings.Join(known, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		gone = nil
	}
	for _, name := range gone {
		t.Errorf("%s is fine by now: take it out of %s (go test ./test/names -rewrite)", name, knownFile)
	}
	for _, found := range strayComments(list) {
		t.Error(found)
	}
	words, err := parseRetired(read(t, "testdata/retired.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range retiredNames(list, words) {
		t.Error(found)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// source declares a type with so many methods: look, and lookAt1, lookAt2, ...
func source(methods int) string {
	var text strings.Builder
	text.WriteString("package p\ntype box[T any] struct { lane, pair int }\nfunc (b *box[T]) look() {}\nfunc free() { lane := 0; _ = lane }\n")
	for i := range methods - 1 {
		text.WriteString("func (b box[T]) lookAt" + string(rune('A'+i)) + "() {}\n")
	}
	return text.String()
}

func parse(t *testing.T, text string) []declared {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return declaredIn(files, "pkg/p", file)
}

func TestOneWordMethods(t *testing.T) {
	cases := map[string]struct {
		reason  string
		methods int
		want    []string
	}{
		"Few":  {reason: "A small type says by itself what its methods do.", methods: manyMethods},
		"Many": {reason: "Among many methods one word is not enough; functions do not count.", methods: manyMethods + 1, want: []string{"pkg/p box.look"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, oneWordMethods(parse(t, source(tc.methods)))); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStrayComments(t *testing.T) {
	const text = `package p

// lookUp returns nothing.
func find() {}

// free is
// right.
func free() {}

// box's twin.
func box() {}

func bare() {}
`
	want := []string{`p.go:4:6: the comment of find begins with "lookUp", not with its name`}
	if diff := cmp.Diff(want, strayComments(parse(t, text))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	added, gone := compare([]string{"a", "b"}, []string{"b", "c"})
	if diff := cmp.Diff([][]string{{"c"}, {"a"}}, [][]string{added, gone}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRetiredNames(t *testing.T) {
	words, err := parseRetired("# a comment\nlane: throttle\n")
	if err != nil {
		t.Fatal(err)
	}
	// The field is found; what is local to a function is not.
	want := []string{"p.go:2:26: lane is a retired word: throttle"}
	if diff := cmp.Diff(want, retiredNames(parse(t, source(2)), words)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range []string{"lane\n", "lane: a\nlane: b\n"} {
		if _, err := parseRetired(text); err == nil {
			t.Errorf("%q is no list of retired words, and was taken for one", text)
		}
	}
}
