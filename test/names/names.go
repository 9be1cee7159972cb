package names

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// manyMethods is how many methods a type may have before each needs a name of two words.
const manyMethods = 15

// declared is one name that a package declares.
type declared struct {
	// pkg is the folder of the package, relative to the root of the module.
	pkg string
	// receiver is the type of a method; empty for everything else.
	receiver string
	name     string
	at       token.Position
	// doc is the first word of a function's comment; empty if it has none, and for everything else.
	doc string
}

// String is the form of a method in testdata/one-word.txt.
func (d declared) String() string {
	if d.receiver == "" {
		return d.pkg + " " + d.name
	}
	return d.pkg + " " + d.receiver + "." + d.name
}

// readDeclared returns the names that the Go files below root declare, tests and generated files left
// out: functions, methods, types, fields, constants and variables of packages. What is local to a
// function does not count. The order is that of folders and files.
func readDeclared(root string) ([]declared, error) {
	var list []declared
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isShipped(path) {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return fmt.Errorf("reading names: %w", err)
		}
		folder, err := filepath.Rel(filepath.Dir(root), filepath.Dir(path))
		if err != nil {
			return fmt.Errorf("reading names: %w", err)
		}
		list = append(list, declaredIn(files, filepath.ToSlash(folder), file)...)
		return nil
	})
	return list, err
}

func isShipped(path string) bool {
	base := filepath.Base(path)
	return strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go") && !strings.HasPrefix(base, "zz_generated.")
}

func declaredIn(files *token.FileSet, pkg string, file *ast.File) (list []declared) {
	add := func(receiver string, names ...*ast.Ident) {
		for _, name := range names {
			list = append(list, declared{pkg: pkg, receiver: receiver, name: name.Name, at: files.Position(name.Pos())})
		}
	}
	for _, decl := range file.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			add(receiverOf(function), function.Name)
			list[len(list)-1].doc, _, _ = strings.Cut(function.Doc.Text(), " ")
			continue
		}
		for _, spec := range decl.(*ast.GenDecl).Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				add("", spec.Names...)
			case *ast.TypeSpec:
				add("", spec.Name)
				if object, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range object.Fields.List {
						add("", field.Names...)
					}
				}
			}
		}
	}
	return list
}

// receiverOf returns the name of a method's type, without its parameters; empty for a function.
func receiverOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	of := function.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// oneWordMethods returns the methods that break the first rule, each as declared.String, sorted.
func oneWordMethods(list []declared) []string {
	methods := map[string][]declared{} // by package and type
	for _, d := range list {
		if d.receiver != "" {
			of := d.pkg + " " + d.receiver
			methods[of] = append(methods[of], d)
		}
	}
	found := map[string]bool{}
	for _, of := range methods {
		for _, method := range of {
			if len(of) > manyMethods && isOneWord(method.name) {
				found[method.String()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// strayComments returns the functions whose comment begins with another name, one line each, in the
// order of list: mostly what they were once called.
func strayComments(list []declared) (found []string) {
	for _, d := range list {
		if word := strings.Trim(d.doc, ",:.\n"); word != "" && strings.TrimSuffix(word, "'s") != d.name {
			found = append(found, fmt.Sprintf("%s: the comment of %s begins with %q, not with its name", d.at, d.name, word))
		}
	}
	return found
}

// isOneWord reports whether a name has no capital after its first letter.
func isOneWord(name string) bool {
	return !strings.ContainsFunc(name[1:], unicode.IsUpper)
}

// compare returns what stands in one sorted list alone: new is in found, gone is in known.
func compare(known, found []string) (added, gone []string) {
	for _, name := range found {
		if _, ok := slices.BinarySearch(known, name); !ok {
			added = append(added, name)
		}
	}
	for _, name := range known {
		if _, ok := slices.BinarySearch(found, name); !ok {
			gone = append(gone, name)
		}
	}
	return added, gone
}

// parseRetired reads lines of the form `word: what to say instead`. A word is a name as it stands in
// the code; a line that begins with # is a comment.
func parseRetired(text string) (map[string]string, error) {
	words := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, instead, ok := strings.Cut(line, ": ")
		if !ok || words[word] != "" {
			return nil, fmt.Errorf("the retired word of line %q: want `word: instead`, each word once", line)
		}
		words[word] = instead
	}
	return words, nil
}

// retiredNames returns the names that are retired words, one line each, in the order of list.
func retiredNames(list []declared, words map[string]string) (found []string) {
	for _, d := range list {
		if instead, ok := words[d.name]; ok {
			found = append(found, fmt.Sprintf("%s: %s is a retired word: %s", d.at, d.name, instead))
		}
	}
	return found
}
