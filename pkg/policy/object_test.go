package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func objectWith(spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "ambit.dev/v1alpha1", "kind": "ReconcilePolicy", "spec": spec,
		"metadata": map[string]any{"name": "p", "namespace": "n", "managedFields": []any{map[string]any{"manager": "x"}}},
		"status":   map[string]any{"whatever": "it says"},
	}
}

// TestFromObject: messages about objects say the path of a field, and never what is in
// it as a line.
func TestFromObject(t *testing.T) {
	owner := map[string]any{"apiVersion": "example.com/v1", "kind": "App"}
	template := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
	for name, c := range map[string]struct {
		reason string
		spec   map[string]any
		want   []string
	}{
		"Valid":   {reason: "nothing is wrong", spec: map[string]any{"owner": owner}},
		"Unknown": {reason: "an unknown field is named by its path", spec: map[string]any{"owner": owner, "ownr": "x"}, want: []string{`p of n: spec.ownr: unknown field "ownr" in spec (did you mean "owner"?)`}},
		"CEL": {
			reason: "so is an expression in a list, whatever its place in the text",
			spec: map[string]any{"owner": owner, "children": []any{
				map[string]any{"id": "a", "template": template},
				map[string]any{"id": "b", "when": "true &&\n nonsense", "template": template},
			}},
			want: []string{`p of n: spec.children[1].when: unknown variable or function "nonsense"; in scope: owner, policy, access, ready(), a`},
		},
		"Empty": {reason: "what is missing is missing in what is there", spec: map[string]any{}, want: []string{"p of n: spec.owner is required"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := syntax.FromObject("p of n", objectWith(c.spec))
			if err != nil {
				t.Fatal(err)
			}
			program, err := policy.Compile(d)
			var found syntax.Errors
			var got []string
			if errors.As(err, &found) {
				for _, e := range found {
					got = append(got, e.Error())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if err == nil && program.Place("owner.filter") != "p of n spec.owner" {
				t.Errorf("the place is %q", program.Place("owner.filter"))
			}
		})
	}
	if _, err := syntax.FromObject("p of n", map[string]any{"kind": "Other"}); err == nil {
		t.Error("an object of another kind is a policy")
	}
}

// TestFromObjectSame: an object and its text give programs that do the same.
func TestFromObjectSame(t *testing.T) {
	d, err := syntax.FromObject("p", map[string]any{
		"apiVersion": "ambit.dev/v1alpha1", "kind": "ReconcilePolicy", "metadata": map[string]any{"name": "p"},
		"spec": map[string]any{
			"owner":    map[string]any{"apiVersion": "example.com/v1", "kind": "App"},
			"children": []any{map[string]any{"id": "web", "template": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"x": "1"}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	if program.Hash != hashOf(t, hashed) {
		t.Error("the hashes differ")
	}
}

// TestFromObjectShipped: so do the policies that ship with Ambit.
func TestFromObjectShipped(t *testing.T) {
	files, err := filepath.Glob("../../policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents, err := syntax.Parse(file, data)
		if err != nil || len(documents) != 1 {
			continue // not one policy: it cannot be read as one object
		}
		var object map[string]any
		if err := yaml.Unmarshal(data, &object); err != nil {
			t.Fatal(err)
		}
		same, err := syntax.FromObject("object", object)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		want, err := policy.Compile(documents[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := policy.Compile(same)
		if err != nil || got.Hash != want.Hash {
			t.Errorf("%s: as an object it is another policy, error %v", file, err)
		}
	}
}

// TestIn: a document takes the namespace that it stands in, unless it says one.
func TestIn(t *testing.T) {
	for text, want := range map[string]string{
		"metadata: {name: p}":                  "here",
		"metadata: {name: p, namespace: else}": "else",
	} {
		documents, err := syntax.Parse("p.yaml", []byte("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\n"+text+"\nspec: {serviceAccountName: x, owner: {apiVersion: v1, kind: Pod}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		program, err := policy.Compile(documents[0].InNamespace("here"))
		if err != nil {
			t.Fatal(err)
		}
		if program.Namespace != want || documents[0].InNamespace("here").Namespace() != want {
			t.Errorf("%s: the namespace is %q, want %q", text, program.Namespace, want)
		}
		if before := documents[0].Namespace(); before != "" && before != want {
			t.Errorf("%s: the document itself was changed", text)
		}
	}
}
