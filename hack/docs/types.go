package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// types are the API types of a package.
type types struct {
	specs map[string]*ast.TypeSpec
	docs  map[string]*ast.CommentGroup
	// values are the constants of each named type, in their order.
	values map[string][]value
}

// value is an allowed value of an enum.
type value struct{ text, doc string }

// field is one field of a policy.
type field struct {
	// path is as in `children[].forEach.as`, without spec.
	path string
	// kind is in words: `list of objects`.
	kind     string
	doc      string
	required bool
	values   []value
	// limits are in words: `at most 64 items`.
	limits []string
}

// readTypes reads the files *_types.go of a folder.
func readTypes(dir string) (*types, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_types.go"))
	if err != nil {
		return nil, err
	}
	t := &types{specs: map[string]*ast.TypeSpec{}, docs: map[string]*ast.CommentGroup{}, values: map[string][]value{}}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		t.add(file)
	}
	return t, nil
}

// add adds the types and constants of a file.
func (t *types) add(file *ast.File) {
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				t.specs[spec.Name.Name], t.docs[spec.Name.Name] = spec, general.Doc
			case *ast.ValueSpec:
				t.addValue(spec)
			}
		}
	}
}

// addValue adds a constant of a named type.
func (t *types) addValue(spec *ast.ValueSpec) {
	of, named := spec.Type.(*ast.Ident)
	if !named || len(spec.Values) != 1 {
		return
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok {
		return
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return
	}
	doc, _ := split(spec.Doc)
	t.values[of.Name] = append(t.values[of.Name], value{text: text, doc: strings.TrimPrefix(doc, spec.Names[0].Name+" ")})
}

// fields returns the fields of a struct and of the structs in it, each before
// those in it. path is that of the struct.
func (t *types) fields(name, path string) ([]field, error) {
	spec, known := t.specs[name]
	if !known {
		return nil, fmt.Errorf("there is no type %s", name)
	}
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("type %s is not a struct", name)
	}
	var all []field
	for _, f := range structure.Fields.List {
		key := jsonName(f)
		if key == "" || key == "-" {
			continue
		}
		found, inside, err := t.field(f, path+key)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
		if inside == "" {
			continue
		}
		below, err := t.fields(inside, found.path+".")
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// field returns what there is to say of a field, and the name of the struct in it,
// if it is one of this package.
func (t *types) field(f *ast.Field, path string) (field, string, error) {
	doc, markers := split(f.Doc)
	if doc == "" {
		return field{}, "", fmt.Errorf("field %s has no comment", path)
	}
	found := field{path: path, doc: doc, required: has(markers, "required")}
	of, list := element(f.Type)
	if list {
		found.path += "[]"
	}
	if spec, own := t.specs[of]; own {
		if _, isStruct := spec.Type.(*ast.StructType); isStruct {
			found.kind, found.limits = kindWords("object", list), limits(markers)
			return found, of, nil
		}
		_, above := split(t.docs[of])
		markers = append(markers, above...)
		found.values, of = t.values[of], "string"
	}
	found.kind, found.limits = kindWords(of, list), limits(markers)
	return found, "", nil
}

// element returns the name of a field's type, of its elements if it is a list.
func element(x ast.Expr) (name string, list bool) {
	switch x := x.(type) {
	case *ast.StarExpr:
		return element(x.X)
	case *ast.ArrayType:
		name, _ = element(x.Elt)
		return name, true
	case *ast.SelectorExpr:
		return x.Sel.Name, false
	case *ast.Ident:
		return x.Name, false
	}
	return "", false
}

func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
	return name
}
