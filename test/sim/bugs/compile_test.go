package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"testing"
)

// listed is a package as `go list -export -json` prints it.
type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

// TestBugsCompile: the code of a bug uses names as they are now. A bug that does not compile is
// caught by no plan.
func TestBugsCompile(t *testing.T) {
	bugs, err := Read(folderHere, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	byDir := map[string]listed{}
	exports := map[string]string{}
	for _, p := range listPackages(t) {
		byDir[p.Dir], exports[p.ImportPath] = p, p.Export
	}
	root, err := filepath.Abs(rootHere)
	if err != nil {
		t.Fatal(err)
	}
	open := func(importPath string) (io.ReadCloser, error) { return os.Open(exports[importPath]) }
	imports := importer.ForCompiler(token.NewFileSet(), "gc", open)
	for _, b := range bugs {
		files, err := b.Apply(rootHere)
		if err != nil {
			t.Error(err)
			continue
		}
		for dir := range foldersOf(files) {
			if err := checkPackage(byDir[filepath.Join(root, dir)], root, files, imports); err != nil {
				t.Errorf("bug %q does not compile:\n%v", b.Name, err)
			}
		}
	}
}

// listPackages returns all packages of the module, and what they import, compiled.
func listPackages(t *testing.T) (list []listed) {
	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./pkg/...")
	command.Dir = rootHere
	text, err := command.Output()
	if err != nil {
		t.Fatalf("listing the packages: %v", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatalf("reading the list of packages: %v", err)
		}
		list = append(list, p)
	}
}

// foldersOf returns the folders of files.
func foldersOf(files map[string]string) map[string]bool {
	folders := map[string]bool{}
	for name := range files {
		folders[path.Dir(name)] = true
	}
	return folders
}

// checkPackage checks the types of a package in which some files are changed.
func checkPackage(p listed, root string, changed map[string]string, imports types.Importer) error {
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		inside, err := filepath.Rel(root, filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		var text any // nil: the file's own
		if own, ok := changed[filepath.ToSlash(inside)]; ok {
			text = own
		}
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	var problems []error
	config := types.Config{Importer: imports, Error: func(err error) { problems = append(problems, err) }}
	if _, err := config.Check(p.ImportPath, fset, parsed, nil); err != nil && len(problems) == 0 {
		return fmt.Errorf("checking %s: %w", p.ImportPath, err)
	}
	return errors.Join(problems...)
}
