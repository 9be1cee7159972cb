package policysource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// mostFile is the largest file that is read, in bytes: more than an object of the API
// server may have.
const mostFile = 4 << 20

// files reads what -f names. It is immutable.
type files struct {
	arguments []string
	stdin     *text // nil if it is not read
	// isFresh reports whether a file was written so shortly ago that it may be written still;
	// nil: none was.
	isFresh func(fs.FileInfo) bool
}

// isJustWritten reports whether a file was changed within the time in which two readings of it
// are compared.
func isJustWritten(info fs.FileInfo) bool { return time.Since(info.ModTime()) < steadyReading }

// filesReading is what the files hold at one moment.
type filesReading struct {
	texts []text
	// withheld are texts of files of which nothing is known yet, and that may be written still.
	withheld []text
	complete []place
	// gone are the arguments that are not there, nor the folder that they would be in.
	gone []place
	// within says which argument a file belongs to.
	within map[string]string
	// problems are why arguments could not be read, sorted.
	problems []string
}

// read reads all files. What cannot be read as a whole is not complete; a file that is
// there and cannot be read is a text that says so.
func (f files) read() filesReading {
	r := filesReading{within: map[string]string{}}
	if f.stdin != nil {
		r.texts = append(r.texts, *f.stdin)
	}
	for _, argument := range f.arguments {
		paths, err := filesIn(argument)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				r.gone = append(r.gone, place{kind: File, argument: argument})
			}
			r.problems = append(r.problems, fmt.Sprintf("%s: %v", argument, err))
			continue
		}
		for _, path := range paths {
			if _, twice := r.within[path]; twice {
				continue
			}
			r.within[path] = argument
			r.texts = append(r.texts, f.readFile(path))
		}
		r.complete = append(r.complete, place{kind: File, argument: argument})
	}
	return r
}

// filesIn returns the files that one argument stands for, sorted: itself, or of a
// folder the *.yaml and *.yml files directly in it that are not hidden. A file that is
// not there is none: it was deleted, if its folder can be read.
func filesIn(argument string) ([]string, error) {
	argument = filepath.Clean(argument)
	info, err := os.Stat(argument)
	if errors.Is(err, fs.ErrNotExist) && isPolicyFile(filepath.Base(argument)) {
		if _, err := os.ReadDir(filepath.Dir(argument)); err != nil {
			return nil, err
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{argument}, nil
	}
	entries, err := os.ReadDir(argument)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if !entry.IsDir() && isPolicyFile(entry.Name()) {
			paths = append(paths, filepath.Join(argument, entry.Name()))
		}
	}
	return paths, nil
}

// isPolicyFile says whether a file of a folder is read. Hidden ones are not: they are
// what editors and volumes use to replace files.
func isPolicyFile(name string) bool {
	return !strings.HasPrefix(name, ".") && syntax.IsFileName(name)
}

func (f files) readFile(path string) text {
	t := text{origin: Origin{Kind: File, File: path}}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		t.unread = plainly(path, err)
	case info.Size() > mostFile:
		t.unread = fmt.Errorf("%s: it has more than %d bytes", path, mostFile)
	default:
		t.fresh = f.isFresh != nil && f.isFresh(info)
		if t.data, err = os.ReadFile(path); err != nil {
			t.unread = plainly(path, err)
		}
	}
	t.digest, t.size = digestOf(t)
	return t
}

// plainly says of which file an error is, once.
func plainly(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s: it cannot be read: %w", path, err)
}

// same says whether two readings hold the same.
func (r filesReading) same(other filesReading) bool {
	isSame := func(a, b text) bool { return a.origin == b.origin && a.digest == b.digest && a.steady == b.steady }
	return slices.EqualFunc(r.texts, other.texts, isSame) && slices.EqualFunc(r.withheld, other.withheld, isSame) &&
		slices.Equal(r.complete, other.complete) && slices.Equal(r.gone, other.gone) && slices.Equal(r.problems, other.problems)
}

// argumentOf says which argument a file belongs to that may be gone.
func (f files) argumentOf(file string) string {
	for _, argument := range f.arguments { // what is read from stdin is never gone
		if clean := filepath.Clean(argument); file == clean || filepath.Dir(file) == clean {
			return argument
		}
	}
	return ""
}
