package schemas

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// TestPolicies: what compiles without types in the policies that Ambit brings
// along compiles with those of Kubernetes' own kinds and of the examples.
func TestPolicies(t *testing.T) {
	set := JoinSets(definitionsIn(t, "../../../examples/*/crd.yaml"), publishedSet(t))
	files, err := filepath.Glob("../../../policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n---") {
			policy := object(t, part)
			if policy.GetKind() == "ReconcilePolicy" {
				checked += checkPolicy(t, filepath.Base(file), policy.Object, set)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d expressions were compared", checked)
	}
}

// checkPolicy compiles all text of a policy that compiles without types, and
// returns how much that is.
func checkPolicy(t *testing.T, file string, policy map[string]any, set Set) int {
	spec, _ := policy["spec"].(map[string]any)
	variables := map[string]*cel.Schema{"owner": kindOf(set, spec["owner"]), "policy": nil, "access": nil, "object": nil, cel.ReadyVar: nil}
	names := func(list string, bind func(entry map[string]any)) {
		entries, _ := spec[list].([]any)
		for _, entry := range entries {
			if entry, ok := entry.(map[string]any); ok {
				bind(entry)
			}
		}
	}
	names("variables", func(e map[string]any) { variables[textOf(e["name"])] = nil })
	names("watches", func(e map[string]any) { variables[textOf(e["id"])] = cel.ListOf(kindOf(set, e)) })
	names("children", func(e map[string]any) {
		child := kindOf(set, e["template"])
		if each, ok := e["forEach"].(map[string]any); ok {
			variables[textOf(each["as"])] = nil
			child = nil // one object in its own readyWhen, and a list elsewhere
		}
		variables[textOf(e["id"])] = child
	})
	delete(variables, "")
	var all []string
	for name := range variables {
		all = append(all, name)
	}
	typed, err := cel.NewTypedEnv(variables)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := cel.NewEnv(all...)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, text := range texts(spec) {
		compile := func(env *cel.Env) bool {
			if strings.Contains(text, "${") {
				_, issues := env.CompileTemplate(text)
				return len(issues) == 0
			}
			_, issues := env.CompileExpr(text)
			return len(issues) == 0
		}
		if !compile(untyped) {
			continue
		}
		if checked++; !compile(typed) {
			t.Errorf("%s: %s compiles only without types", file, text)
		}
	}
	return checked
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

func kindOf(set Set, described any) *cel.Schema {
	d, _ := described.(map[string]any)
	found, _ := set.Schema(schema.FromAPIVersionAndKind(textOf(d["apiVersion"]), textOf(d["kind"])))
	return found
}

// texts returns all text in a JSON-like tree.
func texts(tree any) []string {
	var found []string
	switch v := tree.(type) {
	case map[string]any:
		for _, below := range v {
			found = append(found, texts(below)...)
		}
	case []any:
		for _, below := range v {
			found = append(found, texts(below)...)
		}
	case string:
		found = append(found, v)
	}
	return found
}

func definitionsIn(t *testing.T, pattern string) Set {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var found []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n---") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(part), &o.Object); err != nil {
				t.Fatal(err)
			}
			if o.GetKind() == "CustomResourceDefinition" {
				found = append(found, o)
			}
		}
	}
	set, err := FromDefinitions(found...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// publishedSet is what an API server publishes of Kubernetes' own kinds.
func publishedSet(t testing.TB) Set {
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	var sets []Set
	for path, group := range paths {
		document, err := group.Schema("application/json")
		if err != nil {
			t.Fatal(err)
		}
		set, err := FromOpenAPI(bytes.NewReader(document))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		sets = append(sets, set)
	}
	return JoinSets(sets...)
}

func TestPublished(t *testing.T) {
	set := publishedSet(t)
	deployment, ok := set.Schema(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	if !ok {
		t.Fatal("no schema of Deployment")
	}
	env, err := cel.NewTypedEnv(map[string]*cel.Schema{"deployment": deployment})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		`deployment.status.?availableReplicas.orValue(0) == deployment.spec.replicas`:             "",
		`deployment.spec.template.spec.containers.all(c, c.ports.exists(p, p.containerPort > 1))`: "",
		`deployment.spec.template.spec.containers[0].resources.limits.cpu`:                        "",
		`deployment.status.conditions.exists(c, c.type == 'Available')`:                           "",
		`deployment.spec.strategy.rollingUpdate.maxSurge == '25%'`:                                "",
		`deployment.metadata.managedFields[0].fieldsV1.x`:                                         "",
		`deployment.status.?availableReplica.orValue(0)`:                                          `deployment.status has no field "availableReplica"; did you mean "availableReplicas" or "unavailableReplicas"?`,
		`deployment.spec.template.spec.container[0]`:                                              `deployment.spec.template.spec has no field "container"; did you mean "containers"?`,
	} {
		_, issues := env.CompileExpr(source)
		if want == "" && len(issues) > 0 || want != "" && (len(issues) != 1 || issues[0].Message != want) {
			t.Errorf("%s: %v, want %q", source, issues, want)
		}
	}
}
