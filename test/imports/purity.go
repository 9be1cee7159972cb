package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// clockFuncs returns the functions of package time that read the clock or wait.
func clockFuncs() []string {
	return []string{
		"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
	}
}

// checkPurity returns every use of the clock and every goroutine in the pure
// packages among pkgs, as `file:line: what`, in the order of pkgs. The error is
// that of reading or parsing a source file.
func checkPurity(pkgs []pkg) ([]string, error) {
	var found []string
	for _, p := range pkgs {
		own, inside := strings.CutPrefix(p.ImportPath, module+"/")
		if row := rowOf(own); !inside || row < 0 || !layers()[row].pure {
			continue
		}
		for _, name := range p.GoFiles {
			impure, err := checkFile(filepath.Join(p.Dir, name), nil)
			if err != nil {
				return nil, fmt.Errorf("reading package %q: %w", own, err)
			}
			found = append(found, impure...)
		}
	}
	return found, nil
}

// checkFile returns the impure statements of one file. A nil src reads the file.
func checkFile(name string, src any) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %q: %w", name, err)
	}
	var found []string
	clock := timeName(file)
	ast.Inspect(file, func(n ast.Node) bool {
		if what := impurity(n, clock); what != "" {
			found = append(found, fmt.Sprintf("%s: %s", fset.Position(n.Pos()), what))
		}
		return true
	})
	return found, nil
}

// timeName returns the name under which the file imports package time, or "".
func timeName(file *ast.File) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != `"time"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return "time"
	}
	return ""
}

// impurity says what is impure in a node itself, or "".
func impurity(n ast.Node, clock string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a pure package starts no goroutine"
	case *ast.SelectorExpr:
		name, ok := n.X.(*ast.Ident)
		if ok && clock != "" && name.Name == clock && slices.Contains(clockFuncs(), n.Sel.Name) {
			return "a pure package reads no clock: time." + n.Sel.Name
		}
	}
	return ""
}
