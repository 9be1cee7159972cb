// Package manifests reads what users name on a command line: files and folders with
// policies, with CustomResourceDefinitions, and with objects as kubectl prints them.
//
// Errors are about what was named: it is not there, or is not legible. Mistakes in a policy
// are no error but findings, with their positions. The package neither prints nor exits.
package manifests

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// stdinName is the file name that means stdin, and stdinShown is what it is
// called in messages.
const (
	stdinName  = "-"
	stdinShown = "<stdin>"
)

// file is one input with its content.
type file struct {
	// name is what messages call it.
	name string
	data []byte
}

// maxObjects is the longest file with objects that is read, in bytes: a list of the objects of a cluster, as
// kubectl prints it, and bundles of CustomResourceDefinitions are longer than a text with policies may be.
const maxObjects = 128 << 20

// reading says how files are read.
type reading struct {
	// stdin is read where the name is `-`, at most once.
	stdin io.Reader
	// most is how many bytes a file may have.
	most int64
	// repeatable: only what can be read again is read, which a pipe cannot.
	repeatable bool
}

// readFiles reads the files and folders names, in the order given; of a folder the *.yaml
// and *.yml files directly in it, sorted by name. What is no regular file is read only if it is named itself, and
// need not be repeatable: to open a pipe waits for whoever writes to it.
func readFiles(names []string, how reading) ([]file, error) {
	var files []file
	seen := map[string]bool{}
	for _, name := range names {
		paths, err := how.pathsIn(name)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if seen[path] {
				return nil, fmt.Errorf("%q is given twice", path)
			}
			seen[path] = true
			f, err := how.readFile(path)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// pathsIn returns the files that one name stands for.
func (r reading) pathsIn(name string) ([]string, error) {
	if name == stdinName {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return pathsInFolder(name)
	case r.repeatable && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file, and can be read once only: use -f - for a pipe", name)
	}
	return []string{filepath.Clean(name)}, nil
}

// pathsInFolder returns the files of a folder that are read, sorted.
func pathsInFolder(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if entry.IsDir() || !syntax.IsFileName(entry.Name()) {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		info, err := os.Stat(path) // what a link leads to
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no regular file, and of a folder only these are read: move it elsewhere", path)
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, nil
}

// readFile reads one file, or stdin for `-`.
func (r reading) readFile(path string) (file, error) {
	if path == stdinName {
		data, err := syntax.ReadAtMost(r.stdin, r.most)
		if err != nil {
			return file{}, fmt.Errorf("reading stdin: %w", err)
		}
		return file{name: stdinShown, data: data}, nil
	}
	opened, err := os.Open(path)
	if err != nil {
		return file{}, err
	}
	defer opened.Close()
	data, err := syntax.ReadAtMost(opened, r.most)
	if err != nil {
		return file{}, fmt.Errorf("reading %s: %w", path, withoutPath(err))
	}
	return file{name: path, data: data}, nil
}

// withoutPath is the cause of an error that names the file as well.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
