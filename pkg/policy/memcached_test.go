package policy_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/schemas"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/test/policytext"
)

// memcachedText is the policy in testdata/memcached.txt.
func memcachedText(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/memcached.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), separator)
	return []byte(text)
}

func compile(t testing.TB, data []byte) *policy.Program {
	t.Helper()
	return policytext.Compile(t, "memcached.yaml", string(data))
}

// TestShippedPolicies: what the repository shows to users compiles, also with what
// is known of the kinds that come with it.
func TestShippedPolicies(t *testing.T) {
	known := shippedKinds(t)
	files, err := filepath.Glob("../../policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents, err := syntax.Parse(filepath.Base(file), data)
		if err != nil || len(documents) != 1 {
			t.Fatal(documents, err)
		}
		if _, err := policy.CompileWith(documents[0], policy.Options{Schemas: known}); err != nil {
			t.Error(err)
		}
	}
}

// shippedKinds are the definitions of kinds in the examples.
func shippedKinds(t *testing.T) policy.Schemas {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/crd.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	var definitions []*unstructured.Unstructured
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &o.Object); err != nil {
			t.Fatal(err)
		}
		definitions = append(definitions, o)
	}
	set, err := schemas.FromDefinitions(definitions...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

var memcached = cel.Activation{
	"owner":  map[string]any{"metadata": map[string]any{"name": "m1", "namespace": "ns"}, "spec": map[string]any{"size": int64(2)}},
	"policy": map[string]any{"name": "memcached", "namespace": "ambit-system"},
}

func TestMemcachedSelector(t *testing.T) {
	s := compile(t, memcachedText(t)).Watches[0].Selector
	exact, err := s.ForOwner(context.Background(), memcached)
	if err != nil {
		t.Fatal(err)
	}
	key, value, err := s.IndexLabel(context.Background(), memcached)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ reason, got, want string }{
		{"the exact selector has the owner's name", exact.String(), "app.kubernetes.io/instance=m1,app.kubernetes.io/name=memcached"},
		{"the relaxed one only asks for the label", s.RelaxedText(), "app.kubernetes.io/instance,app.kubernetes.io/name=memcached"},
		{"the index is the term of the owner", key + "=" + value, "app.kubernetes.io/instance=m1"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, c.got, c.want)
		}
	}
	if !s.OwnerSpecific() {
		t.Error("the selector depends on the owner")
	}
}

func TestMemcachedPlaces(t *testing.T) {
	p := compile(t, memcachedText(t))
	for _, c := range []struct{ reason, what, want string }{
		{"the policy itself", "", "memcached.yaml:4"},
		{"a leaf of a template", "children.deployment.template.spec.replicas", "memcached.yaml:22"},
		{"a literal has the place of its template", "children.deployment.template.spec.template.spec.containers[0].image", "memcached.yaml:18"},
		{"an expression in a list", "children.deployment.readyWhen[1]", "memcached.yaml:41"},
		{"a leaf of the status", "status.state.message", "memcached.yaml:59"},
		{"below a known part", "status.nodes.below[3].it", "memcached.yaml:56"},
		{"nothing known", "elsewhere", "memcached.yaml:4"},
	} {
		if got := p.Place(c.what); got != c.want {
			t.Errorf("%s: Place(%q) = %q, want %q", c.reason, c.what, got, c.want)
		}
	}
}

func BenchmarkCompileMemcached(b *testing.B) {
	data := memcachedText(b)
	b.ReportAllocs()
	for b.Loop() {
		compile(b, data)
	}
}
