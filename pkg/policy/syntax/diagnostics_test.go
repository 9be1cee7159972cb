package syntax_test

import (
	"errors"
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func TestErrorText(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		err    syntax.Error
		want   string
	}{
		"Plain": {
			reason: "the caret is below the column",
			err:    syntax.Error{File: "f.yaml", Line: 3, Column: 4, Message: "wrong", SourceLine: "a: b"},
			want:   "f.yaml:3:4: wrong\n  a: b\n     ^",
		},
		"Tabs": {
			reason: "tabs stay tabs, so that the caret lines up whatever their width",
			err:    syntax.Error{File: "f.yaml", Line: 1, Column: 4, Message: "wrong", SourceLine: "\ta\tb"},
			want:   "f.yaml:1:4: wrong\n  \ta\tb\n  \t \t^",
		},
		"Runes": {
			reason: "columns are characters, not bytes",
			err:    syntax.Error{File: "f.yaml", Line: 1, Column: 4, Message: "wrong", SourceLine: "äöü!"},
			want:   "f.yaml:1:4: wrong\n  äöü!\n     ^",
		},
		"End": {
			reason: "a place behind the last character has a caret too",
			err:    syntax.Error{File: "f.yaml", Line: 1, Column: 3, Message: "wrong", SourceLine: "ab"},
			want:   "f.yaml:1:3: wrong\n  ab\n    ^",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.err.Error(); got != c.want {
				t.Errorf("%s:\ngot\n%s\nwant\n%s", c.reason, got, c.want)
			}
		})
	}
}

func TestErrorsUnwrap(t *testing.T) {
	_, err := syntax.Parse("f.yaml", []byte("a: 1\n"))
	var one *syntax.Error
	if !errors.As(err, &one) || one.File != "f.yaml" {
		t.Errorf("errors.As finds a single mistake: got %v", one)
	}
}
