package filesource

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
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// fileReader reads files and folders, as -f names them. It is immutable.
type fileReader struct {
	arguments []string
	stdin     *manifest.Manifest // nil if it is not read
	// isFresh reports whether a file was written so shortly ago that it may be written still;
	// nil: none was.
	isFresh func(fs.FileInfo) bool
}

// wasJustWritten reports whether a file was changed within the time in which two readings of it
// are compared.
func wasJustWritten(info fs.FileInfo) bool { return time.Since(info.ModTime()) < steadyInterval }

// fileReading is what the files hold at one moment.
type fileReading struct {
	manifests []manifest.Manifest
	// withheld are manifests of files of which nothing is known yet, and that may be written still.
	withheld []manifest.Manifest
	complete []manifest.Location
	// missing are the arguments that are not there, nor the folder that they would be in.
	missing []manifest.Location
	// problems are why arguments could not be read, sorted.
	problems []string
}

// readAll reads all files. An argument that cannot be read as a whole is not complete. A file that is
// there and cannot be read is a manifest that is Unreadable.
func (f fileReader) readAll() fileReading {
	var r fileReading
	if f.stdin != nil {
		r.manifests = append(r.manifests, *f.stdin)
	}
	seen := map[string]bool{}
	for _, argument := range f.arguments {
		paths, err := filesIn(argument)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				r.missing = append(r.missing, manifest.Location{Kind: manifest.File, Argument: argument})
			}
			r.problems = append(r.problems, fmt.Sprintf("%s: %v", argument, err))
			continue
		}
		for _, path := range paths {
			if !seen[path] {
				seen[path] = true
				r.manifests = append(r.manifests, f.readFile(path))
			}
		}
		r.complete = append(r.complete, manifest.Location{Kind: manifest.File, Argument: argument})
	}
	return r
}

// filesIn returns the files that one argument stands for, sorted: itself, or of a
// folder the *.yaml and *.yml files directly in it that are not hidden. A file that is
// not there is none: it was deleted, if its folder can be read. A link that leads nowhere is there.
func filesIn(argument string) ([]string, error) {
	argument = filepath.Clean(argument)
	info, err := os.Stat(argument)
	if errors.Is(err, fs.ErrNotExist) && isPolicyFile(filepath.Base(argument)) {
		if _, err := os.Lstat(argument); err == nil {
			return []string{argument}, nil
		}
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

// isPolicyFile reports whether a file of a folder is read. Hidden ones are not: they are
// what editors and volumes use to replace files.
func isPolicyFile(name string) bool {
	return !strings.HasPrefix(name, ".") && syntax.IsFileName(name)
}

// readFile returns the manifest of one file.
func (f fileReader) readFile(path string) manifest.Manifest {
	t := manifest.Manifest{Origin: manifest.Origin{Kind: manifest.File, File: path}}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		t.Unreadable = unreadableFile(path, err)
	case !info.Mode().IsRegular(): // a pipe would never end, or have nothing the next time
		t.Unreadable = fmt.Errorf("%s: it is no regular file, which can be read again", path)
	default:
		t.JustWritten = f.isFresh != nil && f.isFresh(info)
		if t.Data, err = readLimited(path); err != nil {
			t.Unreadable = unreadableFile(path, err)
		}
	}
	return t.WithDigest()
}

// readLimited returns what a file holds, which may be more than its size says.
func readLimited(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return syntax.ReadText(file)
}

// unreadableFile returns the error of a file that cannot be read, with its path once.
func unreadableFile(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s: it cannot be read: %w", path, err)
}

// isSame reports whether two readings hold the same.
func (r fileReading) isSame(other fileReading) bool {
	isSame := func(a, b manifest.Manifest) bool {
		return a.Origin == b.Origin && a.Digest == b.Digest && a.Steady == b.Steady
	}
	return slices.EqualFunc(r.manifests, other.manifests, isSame) && slices.EqualFunc(r.withheld, other.withheld, isSame) &&
		slices.Equal(r.complete, other.complete) && slices.Equal(r.missing, other.missing) && slices.Equal(r.problems, other.problems)
}

// argumentOfFile returns the argument that a file belongs to, which may be gone; "" for none.
func (f fileReader) argumentOfFile(file string) string {
	for _, argument := range f.arguments { // what is read from stdin is never gone
		if clean := filepath.Clean(argument); file == clean || filepath.Dir(file) == clean {
			return argument
		}
	}
	return ""
}
