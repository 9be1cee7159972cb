package imports

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path of the module whose packages have layers.
const module = "github.com/ambit-dev/ambit"

// layer is a row of packages that may import only those of later rows.
type layer struct {
	// packages are paths inside the module.
	packages []string
	// pure: no I/O, no goroutine, no clock, no log.
	pure bool
}

// layers returns the rows from top to bottom: a package may import those of any
// row after its own, and none of its own row or before it.
func layers() []layer {
	return []layer{
		{packages: []string{"cmd/ambit", "examples/scopedcache"}},
		{packages: []string{"pkg/cli"}},
		{packages: []string{"pkg/uninstall", "pkg/internal/manifests"}},
		{packages: []string{"pkg/simulate"}, pure: true},
		{packages: []string{"pkg/manager"}},
		{packages: []string{"pkg/policysource", "pkg/controller", "pkg/permissions", "pkg/scopedcache"}},
		{packages: []string{"pkg/controller/impersonation", "pkg/controller/clusterwatch", "pkg/controller/ownerreconcile", "pkg/scopedcache/kindregistry"}},
		{packages: []string{"pkg/controller/ownerviews"}, pure: true},
		{packages: []string{"pkg/controller/telemetry"}},
		{packages: []string{"pkg/controller/ownerinputs"}, pure: true},
		{packages: []string{"pkg/controller/policykinds"}, pure: true},
		{packages: []string{"pkg/controller/wakes"}},
		{packages: []string{"pkg/policysource/filesource", "pkg/policysource/objectsource", "pkg/policysource/statuswriter"}},
		{packages: []string{"pkg/internal/apply", "pkg/internal/status", "pkg/internal/life", "pkg/permitted", "pkg/controller/discovery", "pkg/controller/fairqueue", "pkg/scopedcache/streamgate"}},
		{packages: []string{"pkg/controller/placepermissions", "pkg/scopedcache/streamstore", "pkg/scopedcache/streamlayout"}},
		{packages: []string{"pkg/controller/refusedwrites"}, pure: true},
		{packages: []string{"pkg/controller/permissionset", "pkg/controller/recordcheck", "pkg/controller/recordedkinds"}, pure: true},
		{packages: []string{"pkg/controller/owners", "pkg/controller/ownerscope", "pkg/controller/placeuses", "pkg/controller/revisions", "pkg/controller/writeconflict"}, pure: true},
		{packages: []string{"pkg/informer", "pkg/access"}},
		{packages: []string{"pkg/scopedcache/kindsettings"}},
		{packages: []string{"pkg/informer/listwatch", "pkg/scopedcache/eventqueue", "pkg/scopedcache/objectread", "pkg/scopedcache/readlog", "pkg/scopedcache/waitingclient"}},
		{packages: []string{"pkg/internal/objectclient", "pkg/internal/typedclient", "pkg/internal/lazylog", "pkg/internal/sharedrun", "pkg/internal/wakeup"}},
		{packages: []string{"pkg/plan", "pkg/permissions/rbac", "pkg/informer/handlerindex", "pkg/scopedcache/fieldtree"}, pure: true},
		{packages: []string{"pkg/plan/ownerstatus"}, pure: true},
		{packages: []string{"pkg/plan/inventory", "pkg/plan/madevalues", "pkg/plan/bindings", "pkg/plan/claims", "pkg/plan/desired", "pkg/plan/prune", "pkg/plan/readiness", "pkg/plan/selection", "pkg/policysource/policystatus", "pkg/informer/objectstore", "pkg/informer/projection"}, pure: true},
		{packages: []string{"pkg/plan/problems", "pkg/plan/objectmeta"}, pure: true},
		{packages: []string{"pkg/policysource/registry", "pkg/policysource/compilequeue"}, pure: true},
		{packages: []string{"pkg/policysource/manifest"}, pure: true},
		{packages: []string{"pkg/policy", "pkg/plan/ssadiff"}, pure: true},
		{packages: []string{"pkg/internal/schemas", "pkg/plan/managedfields"}, pure: true},
		{packages: []string{"pkg/internal/cel", "pkg/internal/graph", "pkg/policy/syntax"}, pure: true},
		{packages: []string{"pkg/internal/cel/sandbox", "pkg/internal/cel/gofunction"}, pure: true},
		{packages: []string{"pkg/internal/cel/sandbox/charge"}, pure: true},
		{packages: []string{"pkg/internal/cel/sandbox/jsonvalue"}, pure: true},
		{packages: []string{"pkg/internal/recipe"}, pure: true},
		{packages: []string{"pkg/internal/secretview"}, pure: true},
		{packages: []string{"pkg/internal/cel/sandbox/meter", "pkg/internal/fields", "pkg/internal/jsonwalk", "pkg/internal/packed", "pkg/internal/backoff", "pkg/internal/spelling", "pkg/internal/timing"}, pure: true},
		{packages: []string{"pkg/api/v1alpha1", "pkg/internal/version"}, pure: true},
	}
}

// forbiddenInPure returns the import paths, with all below them, that a pure
// package must not import.
func forbiddenInPure() []string {
	return []string{
		"crypto/rand", "io/ioutil", "log", "math/rand", "net", "os", "syscall",
		"github.com/go-logr",
		"k8s.io/client-go/discovery", "k8s.io/client-go/dynamic", "k8s.io/client-go/informers",
		"k8s.io/client-go/kubernetes", "k8s.io/client-go/metadata", "k8s.io/client-go/rest",
		"k8s.io/client-go/tools", "k8s.io/klog", "sigs.k8s.io/controller-runtime",
	}
}

// pkg is a package as `go list -json` prints it.
type pkg struct {
	Dir, ImportPath string
	GoFiles         []string
	Imports         []string
}

// checkImports returns every import against the rules, one line each, sorted;
// nil if there is none.
func checkImports(pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		own, inside := strings.CutPrefix(p.ImportPath, module+"/")
		switch {
		case own == simulation:
			found = append(found, checkSimulation(p.Imports)...)
		case inside && !isTest(own):
			found = append(found, checkPackage(own, p.Imports)...)
		}
	}
	slices.Sort(found)
	return found
}

// simulation is the simulated cluster. It stands behind the interfaces of clients, of which
// reviews is Ambit's own, and knows nothing else of Ambit: it outlives what it tests.
const (
	simulation = "test/sim"
	reviews    = module + "/pkg/access"
)

// checkSimulation returns what the simulated cluster must not know.
func checkSimulation(imports []string) (found []string) {
	for _, path := range imports {
		if strings.HasPrefix(path, module+"/") && path != reviews {
			found = append(found, fmt.Sprintf("%s imports %s: of Ambit the simulated cluster knows only %s", simulation, path, reviews))
		}
	}
	return found
}

// checkPackage returns the violations of one package that ships; own is its path
// inside the module.
func checkPackage(own string, imports []string) []string {
	row := rowOf(own)
	if row < 0 {
		return []string{fmt.Sprintf("%s is in no layer: give it its place in test/imports", own)}
	}
	var found []string
	for _, path := range imports {
		if reason := refuse(row, path); reason != "" {
			found = append(found, fmt.Sprintf("%s imports %s: %s", own, path, reason))
		}
	}
	return found
}

// refuse returns why a package of the given row must not import path, or "".
func refuse(row int, path string) string {
	target, inside := strings.CutPrefix(path, module+"/")
	switch {
	case inside && isTest(target):
		return "what ships imports nothing under test/"
	case inside && rowOf(target) <= row:
		return "imports point down the layers only"
	case path == "net/netip": // it only parses
	case !inside && layers()[row].pure && slices.ContainsFunc(forbiddenInPure(), under(path)):
		return "a pure package does no I/O and logs nothing"
	}
	return ""
}

// rowOf returns the index of the layer that names the package, or -1.
func rowOf(own string) int {
	return slices.IndexFunc(layers(), func(l layer) bool { return slices.Contains(l.packages, own) })
}

// isTest says whether the package is there for tests, benchmarks, the demo and
// `make generate`.
func isTest(own string) bool {
	return strings.HasPrefix(own, "test/") || strings.HasPrefix(own, "hack/")
}

// under returns a predicate: is path the given root, or below it.
func under(path string) func(root string) bool {
	return func(root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
}
