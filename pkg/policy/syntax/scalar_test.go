package syntax

import (
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

// scalars returns all scalar nodes of a document, keys included.
func scalars(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return []*yaml.Node{n}
	}
	var out []*yaml.Node
	for _, c := range n.Content {
		out = append(out, scalars(c)...)
	}
	return out
}

// checkScalars says of every scalar in text that each decoded character is at its
// place in the source, and that places only go up.
func checkScalars(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, root *yaml.Node) {
	t.Helper()
	s := newSource("x.yaml", text)
	for _, n := range scalars(root) {
		m, ok := s.decodeScalar(n, s.skipProperties(s.nodeOffset(n)))
		if !ok {
			t.Errorf("%q: the value %q at %d:%d (style %d) was not found in the source", text, n.Value, n.Line, n.Column, n.Style)
			continue
		}
		for i, r := range n.Value {
			if at := m.placeAt(i); at < m.placeAt(max(i-1, 0)) || !standsAt(text[at:], r) {
				t.Errorf("%q: character %d (%q) of %q is mapped to %q", text, i, r, n.Value, text[at:])
			}
		}
		if end := m.placeAt(len(n.Value)); end > len(text) {
			t.Errorf("%q: the end of %q is mapped beyond the text", text, n.Value)
		}
	}
}

// standsAt says whether the source has r, or what may stand for it.
func standsAt(source string, r rune) bool {
	got, _ := utf8.DecodeRuneInString(source)
	switch {
	case got == r, got == '\\':
		return true
	case r == '\n', r == ' ':
		return breakLen(source) > 0
	default:
		return false
	}
}

var scalarTexts = map[string]string{
	"Plain":                  "a: hello world\nb:   x\n",
	"PlainComment":           "a: hello  # not this\nb: [x , y#z, {c: d}]\n",
	"PlainMultiLine":         "a: one two\n   three\n\n\n   four  \n  five\nb: x\n",
	"PlainInFlow":            "{a: one\n  two, b: [three\n\n four]}\n",
	"PlainUnicode":           "äöü: größe 世界 🎉 end\n",
	"PlainRoot":              "just\n text",
	"PlainCRLF":              "a: one\r\n  two\r\n\r\n  three\r\nb: |\r\n  x\r\n   y\r\n",
	"Empty":                  "a:\nb: ''\nc: \"\"\nd: |\ne: >-\n\nf: x",
	"Single":                 "a: 'it''s   here'\n",
	"SingleMultiLine":        "a: 'one ''two''  \n\n  \t three\n four '\n",
	"Double":                 `a: "tab\there \"quoted\" \x41\u00e9\U0001F389 \\ \N\_\L\P\0\a\b\e\f\v\r\n"` + "\n",
	"DoubleMultiLine":        "a: \"one\n  two\n\n  three \\\n  four\\\n\n  \\ five  \\\n    \"\n",
	"Literal":                "a: |\n  one\n    two\n\n  three\nb: x\n",
	"LiteralStrip":           "a: |-\n  one\n\n  two\n\n\nb: x\n",
	"LiteralKeep":            "a: |+\n  one\n\n  two\n\n\nb: x\n",
	"LiteralIndicator":       "a:\n  - |2\n     one\n    two\n  - |-1 # comment\n    x\n   y\n",
	"LiteralLeadingBlank":    "a: |\n\n  \n  one\n",
	"LiteralBlankWithSpaces": "a: |\n  one\n      \n  two\n",
	"LiteralTabs":            "a: |\n  one\n  \ttwo\t\n",
	"LiteralNoEnd":           "a: |\n  one\n  two",
	"LiteralInSequence":      "- |\n one\n\n two\n- - |-\n   x\n",
	"LiteralRoot":            "|\n one\n two\n",
	"Folded":                 "a: >\n  one\n  two\n\n  three\n    more\n    again\n  back\n\n\nb: x\n",
	"FoldedStrip":            "a: >-\n  one\n  two\n",
	"FoldedKeep":             "a: >+\n  one\n  two\n\n\nb: x\n",
	"FoldedMoreFirst":        "a: >\n\n  \n    more\n    less\n",
	"FoldedIndicator":        "a:\n  b: >2-\n      one\n    two\n\n    three\n",
	"FoldedLeadingMore":      "a: >1\n   more\n less\n\n   more\n\n less\n less\n",
	"Properties":             "a: !!str   tagged\nb: &anchor\n  |\n    one\nc: &x !!str # comment\n  'two'\n",
	"ByteOrderMark":          "\ufeffa: 'one'\nb: two\n",
	"OtherBreaks":            "a: 'one\u0085 two\u2028 three\u2029\n four'\r\nb: |\n  x\u2028  y\u0085  z\n",
	"CommentsBetween":        "# one\n\na: # two\n  # three\n  value\n",
}

func TestScalarMap(t *testing.T) {
	for name, text := range scalarTexts {
		t.Run(name, func(t *testing.T) {
			var root yaml.Node
			if err := yaml.Unmarshal([]byte(text), &root); err != nil {
				t.Fatalf("the test's own text: %v", err)
			}
			checkScalars(t, text, &root)
		})
	}
}

// TestScalarMapProperty makes scalars of random pieces in random surroundings.
func TestScalarMapProperty(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"a", "b", "ä", "世", "🎉", " ", "  ", "\t", "''", `\"`, `\\`, `\n`, `\x41`, `\u00e9`, `\`, "#", ":", ",", "x: y",
		"\n", "\n\n", "\n  ", "\n   ", "\n      ", "\r\n    ", "\\\n    ", "\n\t", "-", ".",
	})
	frames := rapid.SampledFrom([][2]string{
		{"", "\n"}, {"k: ", "\n"}, {"k: '", "'\n"}, {"k: \"", "\"\n"}, {"- k: |\n    ", "\nz"}, {"k: >\n   ", "\nj: 1\n"},
		{"- - >-\n     ", "\n- x\n"}, {"k: |+\n ", "\n\n"}, {"k:\n  l: |2\n    ", "\n"}, {"k:\n l: >3-\n    ", ""},
		{"{a: '", "', b: c}"}, {"[\"", "\", x]"}, {"[x, ", "]"}, {"- !!str '", "'"}, {"--- # c\nk: >\n\n  ", "\n"},
	})
	rapid.Check(t, func(t *rapid.T) {
		frame := frames.Draw(t, "frame")
		text := frame[0] + strings.Join(rapid.SliceOfN(pieces, 0, 14).Draw(t, "pieces"), "") + frame[1]
		var root yaml.Node
		if yaml.Unmarshal([]byte(text), &root) != nil {
			return
		}
		checkScalars(t, text, &root)
	})
}

func FuzzScalarMap(f *testing.F) {
	for _, text := range scalarTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var root yaml.Node
		if !utf8.ValidString(text) || yaml.Unmarshal([]byte(text), &root) != nil {
			return
		}
		checkScalars(t, text, &root)
	})
}
