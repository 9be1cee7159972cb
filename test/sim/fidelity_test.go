package sim_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/sim"
)

var rewrite = flag.Bool("rewrite", false, "write the answers of the real API server into the scripts")

// users are those of the scripts, beside admin.
var users = map[string][]string{"alice": nil, "bob": nil, "carol": nil, "dave": nil, "erin": nil}

// plain has an API server and nobody who touches the objects; managed has the
// controllers that delete what is to go.
var (
	crds    = []string{"testdata/crds/gadgets.yaml", "testdata/crds/zones.yaml"}
	plain   = cluster.NewLazy(cluster.Options{Users: users, CRDs: crds, Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"}})
	managed = cluster.NewLazy(cluster.Options{Users: users, CRDs: crds, Without: []string{"kube-scheduler", "kwok"}})
)

func TestMain(m *testing.M) { os.Exit(plain.Around(managed.Around(m)).Run()) }

// TestFidelitySimulated plays the scripts on the simulated server: it answers as the
// real one did when the scripts were written, but for what testdata/differences.txt
// lists.
func TestFidelitySimulated(t *testing.T) {
	header, listed := readDifferences(t)
	operations := 0
	for _, s := range readScripts(t) {
		operations += len(s.steps)
		t.Run(s.name, func(t *testing.T) {
			var answers []string
			synctest.Test(t, func(t *testing.T) { answers = play(t, simulatedSide(t), s) })
			for i, got := range answers {
				compareStep(t, s, i, got, listed[fmt.Sprintf("%s:%d", s.name, i+1)])
			}
		})
	}
	if operations < 200 {
		t.Errorf("the scripts have %d operations, want at least 200", operations)
	}
	t.Logf("%d operations, %d of them listed as answered otherwise", operations, len(listed))
	if *rewrite {
		writeDifferences(t, header, listed)
	}
}

// compareStep holds an answer of the simulated server against the real one's. A listed
// difference has to be there, and as it is listed.
func compareStep(t *testing.T, s *script, i int, got string, d *difference) {
	t.Helper()
	want := s.steps[i].want
	if d != nil {
		d.seen = true
		if *rewrite {
			d.answer = got
		}
		if got == want {
			t.Errorf("step %d, %s: answered as the real server does; it is no longer a difference", i+1, s.steps[i].line)
		}
		want = d.answer
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("step %d, %s (-real +simulated):\n%s", i+1, s.steps[i].line, diff)
	}
}

// TestFidelityReal plays the scripts on a real API server: they say what it answers.
func TestFidelityReal(t *testing.T) {
	for _, s := range readScripts(t) {
		t.Run(s.name, func(t *testing.T) {
			c := plain
			if s.managed() {
				c = managed
			}
			got := play(t, realSide(t, c), s)
			for i := range s.steps {
				if diff := cmp.Diff(strings.Split(s.steps[i].want, "\n"), strings.Split(got[i], "\n")); diff != "" && !*rewrite {
					t.Errorf("step %d, %s (-script +real):\n%s", i+1, s.steps[i].line, diff)
				}
				s.steps[i].want = got[i]
			}
			if *rewrite {
				if err := os.WriteFile(s.path, []byte(s.format()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// difference is an answer of the simulated server that is not the real one's.
type difference struct {
	reason, answer string
	seen           bool
}

// readDifferences reads testdata/differences.txt: SCRIPT:STEP REASON, and the answer.
func readDifferences(t *testing.T) (header string, all map[string]*difference) {
	t.Helper()
	data, err := os.ReadFile("testdata/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]*difference{}
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		if strings.HasPrefix(block, "#") {
			header = block
			continue
		}
		head, answer, _ := strings.Cut(block, "\n")
		at, reason, ok := strings.Cut(head, " ")
		if !ok || all[at] != nil {
			t.Fatalf("differences.txt: %q has no reason, or is there twice", head)
		}
		all[at] = &difference{reason: reason, answer: answer}
	}
	t.Cleanup(func() {
		for at, d := range all {
			if !d.seen && !t.Failed() {
				t.Errorf("differences.txt: there is no step %s", at)
			}
		}
	})
	return header, all
}

func writeDifferences(t *testing.T, header string, all map[string]*difference) {
	t.Helper()
	blocks := []string{header}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		blocks = append(blocks, at+" "+all[at].reason+"\n"+all[at].answer)
	}
	if err := os.WriteFile("testdata/differences.txt", []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// simulatedSide is a new simulated server with the kinds of the scripts.
func simulatedSide(t *testing.T) side {
	t.Helper()
	hooked := map[string]bool{}
	server := sim.New(sim.Options{Seed: 1, Admission: hookSimulated(hooked)})
	admin := server.As(sim.Admin).Dynamic()
	for _, path := range crds {
		if _, err := admin.Resource(resources()["crds"]).Create(t.Context(), readObject(t, path), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return side{
		as: func(_ *testing.T, user, other string) clients {
			c := server.As(user)
			if other != "" {
				c = c.Impersonate(other)
			}
			return clients{c.Dynamic(), c.Metadata(), c.Reviews()}
		},
		namespace: func(t *testing.T, prefix string) string {
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": prefix + "-"}}}
			made, err := admin.Resource(resources()["namespaces"]).Create(t.Context(), obj, metav1.CreateOptions{FieldManager: "test-cluster"})
			if err != nil {
				t.Fatal(err)
			}
			return made.GetName()
		},
		webhook: func(_ *testing.T, namespace string) { hooked[namespace] = true },
		pause:   func() { server.Collect() }, patience: time.Minute,
	}
}

// readObject reads a file with one object.
func readObject(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// realSide is a real control plane.
func realSide(t *testing.T, lazy *cluster.Lazy) side {
	t.Helper()
	c := lazy.Cluster(t)
	return side{
		as: func(t *testing.T, user, other string) clients {
			config := configOf(t, c, user)
			config.Impersonate = rest.ImpersonationConfig{UserName: other}
			config.UserAgent = "sim"
			return clients{dynamic.NewForConfigOrDie(config), metadata.NewForConfigOrDie(config), access.FromClient(kubernetes.NewForConfigOrDie(config).AuthorizationV1())}
		},
		namespace: func(t *testing.T, prefix string) string { return c.Namespace(t.Context(), t, prefix) },
		webhook:   func(t *testing.T, namespace string) { hookReal(t, c, namespace) },
		pause:     func() { time.Sleep(20 * time.Millisecond) }, patience: time.Minute,
	}
}

// configOf is the configuration of a user, or of a ServiceAccount of its own.
func configOf(t *testing.T, c *cluster.Cluster, user string) *rest.Config {
	t.Helper()
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	switch {
	case user == sim.Admin:
		return c.Admin()
	case !ok:
		return c.User(user)
	}
	namespace, name, _ := strings.Cut(account, ":")
	config, err := c.ServiceAccount(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
