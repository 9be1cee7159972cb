// Package manifests reads what users name on a command line: files and folders with
// policies, with CustomResourceDefinitions, and with objects as kubectl prints them.
//
// Errors are about what was named: it is not there, or is not legible. Mistakes in a policy
// are no error but findings, with their positions. The package neither prints nor exits.
package manifests

import (
	"fmt"
	"io"
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

// readFiles reads the files and folders names, in the order given; of a folder the *.yaml
// and *.yml files directly in it, sorted by name. stdin is read where the name is `-`, at
// most once.
func readFiles(names []string, stdin io.Reader) ([]file, error) {
	var files []file
	seen := map[string]bool{}
	for _, name := range names {
		paths, err := pathsIn(name)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if seen[path] {
				return nil, fmt.Errorf("%q is given twice", path)
			}
			seen[path] = true
			f, err := readFile(path, stdin)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// pathsIn returns the files that one name stands for.
func pathsIn(name string) ([]string, error) {
	if name == stdinName {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{filepath.Clean(name)}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if !entry.IsDir() && syntax.IsFileName(entry.Name()) {
			paths = append(paths, filepath.Join(name, entry.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// readFile reads one file, or stdin for `-`.
func readFile(path string, stdin io.Reader) (file, error) {
	if path == stdinName {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return file{}, fmt.Errorf("reading stdin: %w", err)
		}
		return file{name: stdinShown, data: data}, nil
	}
	data, err := os.ReadFile(path)
	return file{name: path, data: data}, err
}
