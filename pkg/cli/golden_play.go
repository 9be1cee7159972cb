package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// verdict is what came of a case.
type verdict string

const (
	passed     verdict = "ok"
	failed     verdict = "FAIL"
	updated    verdict = "updated"
	unreadable verdict = "error"
)

// outcome is a case and what came of it, as `ambit test -o json` prints it.
type outcome struct {
	Case   string  `json:"case"`
	Result verdict `json:"result"`
	// Diff is what is expected against what it is; empty for ok.
	Diff string `json:"diff,omitempty"`
	// Message says why the case cannot be read.
	Message string `json:"message,omitempty"`
}

// play runs one case, and with --update writes what is expected of it.
func (o *testOptions) play(ctx context.Context, c testCase, policies *policyShelf) outcome {
	files, err := c.result(ctx, policies)
	if err != nil {
		return outcome{Case: c.Name, Result: unreadable, Message: err.Error()}
	}
	var diffs strings.Builder
	for _, f := range files {
		difference, err := o.settle(filepath.Join(c.Dir, f.name), f.data)
		if err != nil {
			return outcome{Case: c.Name, Result: unreadable, Message: err.Error()}
		}
		diffs.WriteString(difference)
	}
	switch {
	case diffs.Len() == 0:
		return outcome{Case: c.Name, Result: passed}
	case o.Update:
		return outcome{Case: c.Name, Result: updated, Diff: diffs.String()}
	}
	return outcome{Case: c.Name, Result: failed, Diff: diffs.String()}
}

// settle returns the difference between what a file says, nothing if it is not
// there, and what it should say; with --update it is then written.
func (o *testOptions) settle(path string, data []byte) (string, error) {
	expected, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if bytes.Equal(expected, data) && err == nil {
		return "", nil
	}
	if o.Update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return "", err
		}
	}
	shown := filepath.ToSlash(path)
	_, difference, _ := bytes.Cut(diff.Diff(shown, expected, shown+" (now)", data), []byte("\n")) // a line `diff a b`
	return string(difference), nil
}

// result returns the files that are expected of a case, as they are now.
func (c testCase) result(ctx context.Context, policies *policyShelf) ([]file, error) {
	r, err := c.render(ctx, policies)
	if err != nil {
		return nil, err
	}
	var status bytes.Buffer
	if err := printData(&status, "yaml", r.status()); err != nil {
		return nil, err
	}
	return []file{{name: casePlan, data: []byte(r.planText())}, {name: caseStatus, data: status.Bytes()}}, nil
}

// render is the pass that the case describes.
func (c testCase) render(ctx context.Context, policies *policyShelf) (rendering, error) {
	s, err := c.settings()
	if err != nil {
		return rendering{}, err
	}
	owner, ownerErr := readOwner(filepath.Join(c.Dir, caseOwner), "", nil)
	observed, observedErr := readObserved(c.observed(), nil)
	book, bookErr := policies.open(s)
	if err := errors.Join(ownerErr, observedErr, bookErr); err != nil {
		return rendering{}, err
	}
	program, err := choose(book.programs, owner)
	if err != nil {
		return rendering{}, err
	}
	return pass{program: program, kinds: book.kinds, owner: owner, observed: observed}.run(ctx), nil
}
