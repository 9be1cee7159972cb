package suites

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// Functions of the file that is added to a suite's package; they stand where the suite had those
// of controller-runtime. manager.New makes a cache as well.
const (
	ownCache   = "ambitNewCache"
	ownManager = "ambitNewManager"
	ownClient  = "ambitNewClient"
)

// replacements are the functions that are replaced, by the path of their package. That of clients
// only with clients, and in files that have one of the others.
func replacements(clients bool) map[string]string {
	list := map[string]string{upstream + "/pkg/cache": ownCache, upstream + "/pkg/manager": ownManager}
	if clients {
		list[upstream+"/pkg/client"] = ownClient
	}
	return list
}

// rewritten is what was done to the test files of a package.
type rewritten struct {
	function string   // the Go test that runs the suite
	setUp    string   // the file that has it
	changed  []string // base names of the files in which something was replaced, sorted
	calls    int      // how many places
}

// rewritePackage replaces the constructors in the package's test files, and adds the file that has
// the new ones. It is an error if there is nothing to replace, or not one function that runs a suite.
func rewritePackage(dir string, clients bool) (*rewritten, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("looking for tests: %w", err)
	}
	r := &rewritten{}
	packages := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a test: %w", err)
		}
		text, err := rewriteFile(source, clients)
		if err != nil {
			return nil, fmt.Errorf("parsing %q: %w", filepath.Base(file), err)
		}
		if text.function != "" && r.function != "" {
			return nil, fmt.Errorf("%q: %s and %s both run a suite", dir, r.function, text.function)
		}
		if text.function != "" {
			r.function, r.setUp = text.function, filepath.Base(file)
		}
		if text.calls == 0 {
			continue
		}
		r.calls += text.calls
		r.changed = append(r.changed, filepath.Base(file))
		packages[text.pkg] = true
		if err := os.WriteFile(file, text.source, 0o644); err != nil {
			return nil, fmt.Errorf("writing a test: %w", err)
		}
	}
	if r.calls == 0 || r.function == "" {
		return nil, fmt.Errorf("%q: %d constructors to replace, suite %q: controller-runtime's tests are not what they were", dir, r.calls, r.function)
	}
	return r, addConstructors(dir, packages)
}

// focus returns the files whose cases are run, as regular expressions; nil for all. Cases in a file
// without a constructor say nothing of caches, but where all cases share a cache.
func (r *rewritten) focus() []string {
	if slices.Contains(r.changed, r.setUp) {
		return nil
	}
	var found []string
	for _, file := range r.changed {
		found = append(found, `(^|/)`+strings.ReplaceAll(file, ".", `\.`))
	}
	return found
}

// rewrittenFile is a test file with its constructors replaced.
type rewrittenFile struct {
	source   []byte
	pkg      string // in its package clause
	function string // the Go test in it that calls RunSpecs, or ""
	calls    int    // that were replaced, other than those of clients
}

// rewriteFile replaces the constructors in a file that imports ginkgo, and leaves any other as it
// is: what is no case of a suite is not run. Lines stay where they are.
func rewriteFile(source []byte, clients bool) (*rewrittenFile, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	result := &rewrittenFile{source: source, pkg: file.Name.Name}
	names := importNames(file)
	if names["github.com/onsi/ginkgo/v2"] == "" {
		return result, nil
	}
	result.function = suiteFunction(file)
	own := map[string]string{}
	for path, name := range replacements(clients) {
		own[names[path]] = name
	}
	delete(own, "")
	var out bytes.Buffer
	done := 0
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "New" {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && own[of.Name] != "" {
			out.Write(source[done:set.Position(selector.Pos()).Offset])
			out.WriteString(own[of.Name])
			done = set.Position(selector.End()).Offset
			if own[of.Name] != ownClient {
				result.calls++
			}
		}
		return true
	})
	out.Write(source[done:])
	if result.calls > 0 {
		result.source = out.Bytes()
	}
	return result, nil
}

// importNames returns what a file calls the packages that it imports, by their paths. A package is
// taken to have the last part of its path as its name; what is looked up here has.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil && spec.Name != nil {
			names[imported] = spec.Name.Name
		} else if err == nil {
			names[imported] = path.Base(imported)
		}
	}
	return names
}

// suiteFunction returns the name of the function that calls RunSpecs, or "".
func suiteFunction(file *ast.File) (name string) {
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			if called, ok := n.(*ast.Ident); ok && called.Name == "RunSpecs" {
				name = function.Name.Name
			}
			return true
		})
	}
	return name
}

// addConstructors writes the functions that replace others for each of the packages, which
// share a folder.
func addConstructors(dir string, packages map[string]bool) error {
	for name := range packages {
		var out bytes.Buffer
		if err := constructors().Execute(&out, name); err != nil {
			return fmt.Errorf("writing constructors: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ambit_"+name+"_test.go"), out.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing constructors: %w", err)
		}
	}
	return nil
}

// Names in ginkgo's report and output.
const (
	madeCache = "ambit: a cache was made" // an entry in the report of a case
	caseLine  = "ambit-case "             // before each case in the output
)

// constructors is a file of the package whose name it is executed with.
func constructors() *template.Template {
	const text = `package {{.}}

import (
	"fmt"

	"github.com/ambit-dev/ambit/test/suites/constructor"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

func ` + ownCache + `(config *rest.Config, options cache.Options) (cache.Cache, error) {
	ginkgo.AddReportEntry("` + madeCache + `", ginkgo.ReportEntryVisibilityNever)
	return constructor.New(config, options)
}

func ` + ownManager + `(config *rest.Config, options manager.Options) (manager.Manager, error) {
	if options.NewCache == nil {
		options.NewCache = ` + ownCache + `
	}
	return manager.New(config, options)
}

func ` + ownClient + `(config *rest.Config, options client.Options) (client.Client, error) {
	return constructor.NewClient(config, options)
}

var _ = ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
	if !report.State.Is(types.SpecStatePending|types.SpecStateSkipped) || report.Failure.Message != "" {
		fmt.Printf("\n` + caseLine + `%-8s %6.1f s  %s\n", report.State, report.RunTime.Seconds(), report.FullText())
	}
})
`
	return template.Must(template.New("").Parse(text))
}
