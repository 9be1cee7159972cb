package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestModule holds the rules against the module as it is.
func TestModule(t *testing.T) {
	pkgs := list(t)
	for _, v := range checkImports(pkgs) {
		t.Error(v)
	}
	impure, err := checkPurity(pkgs)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range impure {
		t.Error(v)
	}
}

// list returns the packages of the module as they ship.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=Dir,ImportPath,GoFiles,Imports", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("decoding what go list printed: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found no package: the test would pass for nothing")
	}
	return pkgs
}

func TestCheckImports(t *testing.T) {
	cases := map[string]struct {
		reason  string
		own     string
		imports []string
		want    []string
	}{
		"Down": {
			reason:  "Any layer below may be imported, not only the next one.",
			own:     "pkg/controller",
			imports: []string{module + "/pkg/informer", module + "/pkg/internal/fields", "net/http"},
		},
		"Up": {
			reason:  "An import of a higher layer is what this test is for.",
			own:     "pkg/policy",
			imports: []string{module + "/pkg/plan"},
			want:    []string{"pkg/policy imports " + module + "/pkg/plan: imports point down the layers only"},
		},
		"Sideways": {
			reason:  "Packages of one layer do not know each other.",
			own:     "pkg/informer",
			imports: []string{module + "/pkg/internal/apply"},
			want:    []string{"pkg/informer imports " + module + "/pkg/internal/apply: imports point down the layers only"},
		},
		"Unknown": {
			reason: "A new package gets its place in the list before it is used.",
			own:    "pkg/util",
			want:   []string{"pkg/util is in no layer: give it its place in test/imports"},
		},
		"Test": {
			reason:  "What is under test/ must not end up in the binary.",
			own:     "pkg/manager",
			imports: []string{module + "/test/cluster"},
			want:    []string{"pkg/manager imports " + module + "/test/cluster: what ships imports nothing under test/"},
		},
		"PureIO": {
			reason:  "A pure package has no way to the outside; below a forbidden path counts, a longer name does not.",
			own:     "pkg/plan",
			imports: []string{"net/http", "os", "log/slog", "k8s.io/client-go/tools/cache", "networking", "time"},
			want: []string{
				"pkg/plan imports k8s.io/client-go/tools/cache: a pure package does no I/O and logs nothing",
				"pkg/plan imports log/slog: a pure package does no I/O and logs nothing",
				"pkg/plan imports net/http: a pure package does no I/O and logs nothing",
				"pkg/plan imports os: a pure package does no I/O and logs nothing",
			},
		},
		"Simulation": {
			reason:  "The simulated cluster stands behind interfaces of clients, and knows nobody who uses them.",
			own:     "test/sim",
			imports: []string{module + "/pkg/access", module + "/pkg/informer", "k8s.io/client-go/dynamic"},
			want:    []string{"test/sim imports " + module + "/pkg/informer: of Ambit the simulated cluster knows only " + module + "/pkg/access"},
		},
		"TestPackage": {
			reason:  "Tests, benchmarks and the demo import what they need.",
			own:     "test/demo",
			imports: []string{module + "/pkg/informer", "os"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := checkImports([]pkg{{ImportPath: module + "/" + tc.own, Imports: tc.imports}})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckFile(t *testing.T) {
	cases := map[string]struct {
		reason, src string
		want        []string
	}{
		"Pure": {
			reason: "Durations are values; only the clock is forbidden.",
			src:    "package p\nimport \"time\"\nvar d = time.Second\n",
		},
		"Clock": {
			reason: "The clock is found under any name of the import, called or handed over.",
			src:    "package p\nimport tm \"time\"\nvar now = tm.Now\n",
			want:   []string{"p.go:3:11: a pure package reads no clock: time.Now"},
		},
		"OtherTime": {
			reason: "A field or variable of the name time is not the package.",
			src:    "package p\nvar time struct{ Now int }\nvar x = time.Now\n",
		},
		"Goroutine": {
			reason: "A goroutine makes a result depend on scheduling.",
			src:    "package p\nfunc f() {\n\tgo f()\n}\n",
			want:   []string{"p.go:3:2: a pure package starts no goroutine"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := checkFile("p.go", tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
