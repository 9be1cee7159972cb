package imports

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mostPackages bounds what the binary is made of beside Ambit's own packages, of which there may be as many as
// make it easy to read. An operator written by hand with controller-runtime has 820, 226 of them for client-go's
// leader election. Schedules and made values brought 12: cron, the database of time zones, SSH and bcrypt.
const mostPackages = 957

// banned returns the import paths, with all below them, that do not come into the binary, and why.
func banned() map[string]string {
	const server = "it is a part of an API server"
	return map[string]string{
		"google.golang.org/grpc":                                          "traces are sent by HTTP",
		"k8s.io/apiserver/pkg/cel/environment":                            server,
		"k8s.io/apiserver/pkg/endpoints":                                  server,
		"k8s.io/apiserver/pkg/server":                                     server,
		"k8s.io/apiserver/pkg/util":                                       server,
		"k8s.io/cli-runtime/pkg/genericclioptions":                        "it comes with kustomize",
		"k8s.io/cli-runtime/pkg/printers":                                 "it comes with kustomize",
		"k8s.io/cli-runtime/pkg/resource":                                 "it comes with kustomize",
		"k8s.io/component-base":                                           server,
		"k8s.io/kubectl":                                                  "it is kubectl",
		"sigs.k8s.io/apiserver-network-proxy":                             server,
		"sigs.k8s.io/controller-runtime/pkg/metrics/filters":              "it comes with the authentication of an API server",
		"sigs.k8s.io/kustomize":                                           "policies are not built from patches",
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": "it comes with gRPC",
	}
}

// checkBanned returns those of the packages that are banned, with the reason.
func checkBanned(packages []string) []string {
	var found []string
	for _, name := range packages {
		for prefix, reason := range banned() {
			if name == prefix || strings.HasPrefix(name, prefix+"/") {
				found = append(found, name+": "+reason)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestBinary: what was cut from the binary stays out of it.
func TestBinary(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"/cmd/ambit").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return strings.HasPrefix(name, module+"/") })
	for _, found := range checkBanned(packages) {
		t.Errorf("the binary has the package %s; go mod why -m of its module says who brings it", found)
	}
	if len(packages) > mostPackages {
		t.Errorf("the binary has %d packages of others, at most %d are wanted: each costs start-up and memory", len(packages), mostPackages)
	}
	if len(packages) < mostPackages/2 {
		t.Errorf("go list says that the binary has %d packages of others: the test would pass for nothing", len(packages))
	}
}

func TestCheckBanned(t *testing.T) {
	got := checkBanned([]string{"google.golang.org/grpc/codes", "google.golang.org/grpcish", "k8s.io/apiserver/pkg/cel", "k8s.io/kubectl"})
	want := []string{"google.golang.org/grpc/codes: traces are sent by HTTP", "k8s.io/kubectl: it is kubectl"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("banned (-want +got):\n%s", diff)
	}
}
