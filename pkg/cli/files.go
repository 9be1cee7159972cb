package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

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

// addFilesFlag adds the repeatable -f to flags.
func addFilesFlag(flags *pflag.FlagSet, files *[]string) {
	flags.StringArrayVarP(files, "filename", "f", nil,
		"File or folder with policies (of a folder: its *.yaml and *.yml); - is stdin; may be given several times")
}

// readFiles reads what -f names, in the order given; of a folder the *.yaml and
// *.yml files directly in it, sorted by name. stdin is read where the name is
// `-`, at most once. All errors are usage errors.
func readFiles(names []string, stdin io.Reader) ([]file, error) {
	var files []file
	seen := map[string]bool{}
	for _, name := range names {
		paths, err := expand(name)
		if err != nil {
			return nil, usageErrorf("%w", err)
		}
		for _, path := range paths {
			if seen[path] {
				return nil, usageErrorf("%q is given twice", path)
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

// expand returns the files that one name of -f stands for.
func expand(name string) ([]string, error) {
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
			return file{}, usageErrorf("reading stdin: %w", err)
		}
		return file{name: stdinShown, data: data}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return file{}, usageErrorf("%w", err)
	}
	return file{name: path, data: data}, nil
}
