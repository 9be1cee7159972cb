package selection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// compilePolicy compiles a policy for owners of a kind of example.com/v1; each line of spec is below spec.
func compilePolicy(t *testing.T, owner, spec string) *policy.Program {
	t.Helper()
	text := "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: test, namespace: ambit-system}\n" +
		"spec:\n  owner: {apiVersion: example.com/v1, kind: " + owner + "}\n  " + spec
	documents, err := syntax.Parse("test.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("parsing a policy: %v\n%s", err, text)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatalf("compiling a policy: %v\n%s", err, text)
	}
	return program
}

// makeOwner returns a Cache in namespace default, but for what the text says.
func makeOwner(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	owner := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Cache", "metadata": map[string]any{}}}
	owner.SetName("sample")
	owner.SetNamespace("default")
	said := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &said); err != nil {
		t.Fatal(err)
	}
	for key, value := range said {
		if key != "metadata" {
			owner.Object[key] = value
			continue
		}
		for field, metadata := range value.(map[string]any) {
			owner.Object["metadata"].(map[string]any)[field] = metadata
		}
	}
	return owner
}

// TestRefuse: the controller, `ambit render` and `ambit access` ask this function whether a
// policy serves an owner.
func TestRefuse(t *testing.T) {
	const scope = "scope: {namespaces: [one, two], exclude: [two]}\n"
	cases := map[string]struct {
		reason, spec, owner string
		want                string // how the refusal begins; "" for none
		unknown             bool
	}{
		"All":          {reason: "a policy without a selector serves each owner"},
		"Retired":      {reason: "what comes first is the policy as a whole", spec: "retire: true\n", want: "it is retired"},
		"Suspended":    {reason: "also where it is suspended", spec: "suspend: true\n", want: "it is suspended"},
		"Excluded":     {reason: "an excluded namespace", spec: scope, owner: "metadata: {namespace: two}", want: `it excludes namespace "two"`},
		"Unlisted":     {reason: "one that is not named", spec: scope, owner: "metadata: {namespace: three}", want: `its scope does not have namespace "three"`},
		"Listed":       {reason: "one that is", spec: scope, owner: "metadata: {namespace: one}"},
		"Selector":     {reason: "labels of namespaces are not looked at", spec: "scope: {namespaceSelector: {matchLabels: {a: b}}}\n", owner: "metadata: {namespace: three}"},
		"NoNamespace":  {reason: "an owner without a namespace is in each scope", spec: scope, owner: "metadata: {namespace: ''}"},
		"Namespace":    {reason: "a Namespace is in the scope by its own name", spec: scope, owner: "{apiVersion: v1, kind: Namespace, metadata: {name: two, namespace: ''}}", want: `it excludes namespace "two"`},
		"OtherLabels":  {reason: "labels that do not match", owner: "metadata: {labels: {use: not}}", want: "the owner's labels do not match use=ambit"},
		"Filtered":     {reason: "a filter that is false", owner: "{metadata: {labels: {use: ambit}}, spec: {size: 20}}", want: "its filter is false"},
		"Wanted":       {reason: "and one that is true", owner: "{metadata: {labels: {use: ambit}}, spec: {size: 1}}"},
		"NoField":      {reason: "an owner without the field is not wanted", owner: "metadata: {labels: {use: ambit}}", want: "its filter fails: no such key"},
		"FilterFails":  {reason: "nothing is concluded from a filter that fails", owner: "{metadata: {labels: {use: ambit}}, spec: {size: x}}", want: "its filter fails: ", unknown: true},
		"LabelsDecide": {reason: "what the labels say is known, whatever the filter does", owner: "spec: {size: x}", want: "the owner's labels do not match use=ambit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kind := "Cache"
			if tc.spec == "" && tc.owner != "" {
				kind += ", selector: {matchLabels: {use: ambit}}, filter: object.spec.size < 10"
			}
			program, owner := compilePolicy(t, kind, tc.spec), makeOwner(t, tc.owner)
			before := owner.DeepCopy()
			refusal := RefuseOwner(t.Context(), program, owner)
			switch {
			case refusal == nil && tc.want != "", refusal != nil && (tc.want == "" || !strings.HasPrefix(refusal.Reason, tc.want)):
				t.Errorf("%s: got %+v, want %q", tc.reason, refusal, tc.want)
			case refusal != nil && (refusal.Err != nil) != tc.unknown:
				t.Errorf("%s: got error %v, want one: %t", tc.reason, refusal.Err, tc.unknown)
			}
			if diff := cmp.Diff(before, owner); diff != "" {
				t.Errorf("the owner was changed:\n%s", diff)
			}
		})
	}
}
