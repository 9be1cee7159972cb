package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWalk: the functions that ARCHITECTURE.md names on the way of an event are in the files that it names,
// and are no more than somebody can follow.
func TestWalk(t *testing.T) {
	_, walk, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "### The same by name\n")
	walk, _, _ = strings.Cut(walk, "\n## ")
	functions, inFile := 0, map[string]map[string]bool{}
	for _, found := range regexp.MustCompile("`([a-z_/]+\\.go)`: ((?:`[\\w.]+`(?:, )?)+)").FindAllStringSubmatch(walk, -1) {
		file := found[1]
		if inFile[file] == nil {
			inFile[file] = functionsOf(t, filepath.Join(root, "pkg", file))
		}
		for _, name := range strings.Split(found[2], ", ") {
			functions++
			if name = strings.Trim(name, "`"); !inFile[file][name] {
				t.Errorf("ARCHITECTURE.md names %s in %s, where it is not", name, file)
			}
		}
	}
	if functions < 40 || functions > 60 || len(inFile) > 25 {
		t.Errorf("the way is %d functions in %d files, want at most 60 in 25, and all of it", functions, len(inFile))
	}
}

// functionsOf are the functions of a file, methods as Type.Method.
func functionsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
		case f.Recv == nil:
			names[f.Name.Name] = true
		default:
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			if name, ok := receiver.(*ast.Ident); ok {
				names[name.Name+"."+f.Name.Name] = true
			}
		}
	}
	return names
}
