package install

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// applyCRD applies the definition of a policy: it is within the API server's budget
// for rules, or this fails.
func applyCRD(t *testing.T) {
	t.Helper()
	if err := control.Apply(t.Context(), read(t, root+"/manifests/crd/ambit.dev_reconcilepolicies.yaml")); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// propose asks the API server as config whether it would take a policy.
func propose(t *testing.T, config *rest.Config, namespace string, object map[string]any) error {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	proposed := (&unstructured.Unstructured{Object: object}).DeepCopy()
	proposed.SetNamespace(namespace)
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	_, err = client.Resource(policies).Namespace(namespace).Create(t.Context(), proposed, options)
	return err
}

// TestDefinitionAccepts: no rule of the definition refuses what Ambit compiles.
func TestDefinitionAccepts(t *testing.T) {
	applyCRD(t)
	seen := 0
	for _, pattern := range []string{"policies/*.yaml", "docs/examples/*.yaml", "pkg/policy/testdata/*.txt", "pkg/policy/testdata/typed/*.txt"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			seen += accepted(t, file)
		}
	}
	if seen < 40 {
		t.Errorf("%d policies were looked at, want 40 or more: the test would pass for nothing", seen)
	}
}

// accepted proposes each policy in a file that compiles, and returns how many do.
func accepted(t *testing.T, file string) int {
	t.Helper()
	text, _, _ := strings.Cut(string(read(t, file)), "\n----\n")
	seen := 0
	for _, document := range bytes.Split([]byte(text), []byte("\n---\n")) {
		parsed, err := syntax.Parse(file, document)
		if err != nil || len(parsed) != 1 {
			continue
		}
		if _, err := policy.Compile(parsed[0]); err != nil {
			continue
		}
		if err := propose(t, control.Admin(), "default", object(t, document)); err != nil {
			t.Errorf("%s compiles, and is refused: %v", file, err)
		}
		seen++
	}
	return seen
}

// object reads YAML as Ambit does: in version 1.2, where y is a text.
func object(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var value, object map[string]any
	if err := yaml.Unmarshal(document, &value); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
