package docs

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
)

// root is the root of the repository, as seen from here.
const root = "../.."

// read returns a file of the repository as text.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sources parses the Go files below a folder, without the tests.
func sources(t *testing.T, folder string) []*ast.File {
	t.Helper()
	var files []*ast.File
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// texts calls do with each string literal of a file.
func texts(file *ast.File, do func(string)) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil {
			do(text)
		}
		return true
	})
}

// help is what `ambit COMMAND --help` prints; "" for a command that there is not.
func help(t *testing.T, command string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}
	if cli.Main(t.Context(), []string{"ambit", command, "--help"}, streams) != 0 {
		return ""
	}
	return out.String()
}

// documents are the paths of the documents for people, README.md first.
func documents(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}
	for _, folder := range []string{"docs", "docs/decisions"} {
		more, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		if err != nil || len(more) == 0 {
			t.Fatalf("looking for documents in %s: %v, found %d", folder, err, len(more))
		}
		for _, path := range more {
			found = append(found, folder+"/"+filepath.Base(path))
		}
	}
	return found
}

// section is a heading with what stands below it, until the next heading of its level
// or above.
type section struct {
	level       int
	title, text string
}

// sections splits a document at its headings; what is in fences is text.
func sections(document string) []section {
	var found []section
	fenced := false
	for _, line := range strings.Split(document, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if !fenced && marks > 0 && strings.HasPrefix(line[marks:], " ") {
			found = append(found, section{level: marks, title: strings.TrimSpace(line[marks:])})
			continue
		}
		if len(found) > 0 {
			found[len(found)-1].text += line + "\n"
		}
	}
	return found
}
