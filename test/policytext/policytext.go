// Package policytext writes policies for tests in a few words, and compiles them.
package policytext

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// Document returns the YAML of a policy. words are its name, its version (`v1`: another one is another
// policy), and any of owner=Kind, ns=x, account=x, scope=x,y, select=label:x,y, exclude=x, child=x,y, suspend,
// retire, broken (it does not compile), opaque (nor can it be salvaged), garbled (no YAML from here on).
func Document(words string) string {
	var metadata, spec, owner, tail string
	list := strings.Fields(words)
	owner = "App"
	seconds := strings.TrimPrefix(list[1], "v")
	requeue := fmt.Sprintf("duration('%ss')", seconds)
	for _, word := range list[2:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "owner":
			owner = value
		case "ns":
			metadata = ", namespace: " + value
		case "account":
			spec += "  serviceAccountName: " + value + "\n"
		case "scope":
			spec += "  scope: {namespaces: [" + value + "]}\n"
		case "select":
			label, namespaces, _ := strings.Cut(value, ":")
			spec += "  scope: {namespaceSelector: {matchLabels: {" + label + ": x}}, namespaces: [" + namespaces + "]}\n"
		case "exclude":
			spec += "  scope: {exclude: [" + value + "]}\n"
		case "suspend":
			spec += "  suspend: true\n"
		case "child":
			tail += "  children:\n"
			for _, id := range strings.Split(value, ",") {
				tail += fmt.Sprintf("    - {id: %s, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"${owner.metadata.name}-%s\"}}}\n", id, id)
			}
		case "retire":
			spec += "  retire: true\n"
		case "broken":
			requeue = "nonsense"
		case "opaque":
			owner = `""`
		case "garbled":
			tail += "  oops: [\n"
		default:
			panic("unknown word " + word)
		}
	}
	return fmt.Sprintf("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: %s%s}\nspec:\n%s  owner: {apiVersion: example.com/v1, kind: %s}\n  requeueAfter: %s\n%s",
		list[0], metadata, spec, owner, requeue, tail)
}

// Compile compiles the one policy of a text, which has that file name. It fails the test if that is none.
func Compile(t testing.TB, file, text string) *policy.Program {
	t.Helper()
	documents, err := syntax.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Object returns the content of a ReconcilePolicy with the YAML of a policy.
func Object(t testing.TB, data []byte, namespace, name string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	object["metadata"] = map[string]any{"name": name, "namespace": namespace}
	return object
}
