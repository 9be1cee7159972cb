package install

import (
	"strings"
	"testing"
)

// whole is a policy with everything that the rules of the definition look at.
const whole = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: whole}
spec:
  owner: {apiVersion: v1, kind: ConfigMap}
  variables: [{name: one, expression: "1"}]
  children:
    - id: two
      forEach: {as: three, in: "[1]"}
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${three}"}, data: {a: b}}
    - id: four
      dependsOn: [two]
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
  watches: [{id: five, apiVersion: v1, kind: Pod}]
  ensure:
    - id: six
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
  conditions: [{type: Seven, status: "true"}]
`

// TestDefinitionRefuses: mistakes that need no compiler are refused when a policy is
// written. Each case changes one thing in a policy that is accepted.
func TestDefinitionRefuses(t *testing.T) {
	applyCRD(t)
	if err := propose(t, control.Admin(), "default", object(t, []byte(whole))); err != nil {
		t.Fatalf("the policy without a mistake is refused: %v", err)
	}
	for reason, tc := range map[string]struct{ from, to, want string }{
		"a name that no label can have":          {"name: whole", "name: " + strings.Repeat("w", 64), "at most 63 characters"},
		"a variable and a child":                 {"name: one", "name: two", "a variable and a child have the same name"},
		"a variable and a watch":                 {"name: one", "name: five", "a variable and a watch have the same name"},
		"a variable and an ensured object":       {"name: one", "name: six", "a variable and an ensured object have the same name"},
		"a child and a watch":                    {"id: five", "id: four", "a child and a watch have the same name"},
		"a child and an ensured object":          {"id: six", "id: four", "a child and an ensured object have the same name"},
		"a watch and an ensured object":          {"id: six", "id: five", "a watch and an ensured object have the same name"},
		"two children":                           {"id: four", "id: two", "Duplicate value"},
		"an element and its child":               {"as: three", "as: two", "forEach.as is the name of something else"},
		"an element and a variable":              {"as: three", "as: one", "forEach.as is the name of something else"},
		"an element and a watch":                 {"as: three", "as: five", "forEach.as is the name of something else"},
		"an element and an ensured object":       {"as: three", "as: six", "forEach.as is the name of something else"},
		"an element with a name of Ambit":        {"as: three", "as: owner", "Ambit's own"},
		"a child with a reserved word":           {"id: four", "id: while", "reserved word"},
		"a variable for macros":                  {"name: one", "name: __one", "reserved word"},
		"a watch with a name of Ambit":           {"id: five", "id: access", "Ambit's own"},
		"an ensured object with a name of Ambit": {"id: six", "id: ready", "Ambit's own"},
		"a name that is no identifier":           {"id: four", "id: four-teen", "should match"},
		"a child that waits for nothing":         {"dependsOn: [two]", "dependsOn: [ten]", "dependsOn names other children"},
		"a child that waits for itself":          {"dependsOn: [two]", "dependsOn: [four]", "dependsOn names other children"},
		"keep without forEach":                   {"dependsOn: [two]", "keep: 2", "for a child with forEach"},
		"keepWhen without forEach":               {"dependsOn: [two]", "keepWhen: 'true'", "for a child with forEach"},
		"keep and keepWhen":                      {"dependsOn: [two]", "forEach: {as: ten, in: '[1]'}\n      keep: 2\n      keepWhen: 'true'", "exclude each other"},
		"update without forEach":                 {"dependsOn: [two]", "update: OneByOne", "for a child with forEach"},
		"Merge that deletes":                     {"dependsOn: [two]", "existing: Merge\n      onDelete: Orphan", "never deletes"},
		"Merge that makes":                       {"dependsOn: [two]", "existing: Merge\n      apply: Create", "never makes"},
		"a condition of Ambit":                   {"type: Seven", "type: Ready", "Ambit's own"},
		"a condition that is no type":            {"type: Seven", "type: 'Se ven'", "should match"},
		"an owner whose kind is computed":        {"kind: ConfigMap}\n  variables", "kind: \"${one}\"}\n  variables", "should match"},
		"a template without kind":                {"kind: ConfigMap, metadata: {name: b}", "metadata: {name: b}", "kind: Required"},
		"a template with a computed kind":        {"kind: ConfigMap, metadata: {name: b}", "kind: \"${one}\", metadata: {name: b}", "should match"},
		"a template with a computed version":     {"apiVersion: v1, kind: ConfigMap, metadata: {name: b}", "apiVersion: \"${one}\", kind: ConfigMap, metadata: {name: b}", "should match"},
		"a template without metadata":            {"kind: ConfigMap, metadata: {name: b}", "kind: ConfigMap", "metadata: Required"},
		"a template without a name":              {"metadata: {name: c}", "metadata: {labels: {a: b}}", "metadata.name: Required"},
		"an unknown field":                       {"dependsOn: [two]", "dependOn: [two]", "unknown field"},
		"an account that is none":                {"spec:\n  owner", "spec:\n  serviceAccountName: A_B\n  owner", "should match"},
		"a namespace that is none":               {"spec:\n  owner", "spec:\n  scope: {namespaces: [A_B]}\n  owner", "should match"},
	} {
		if !strings.Contains(whole, tc.from) {
			t.Fatalf("%s: nothing to change", reason)
		}
		err := propose(t, control.Admin(), "default", object(t, []byte(strings.Replace(whole, tc.from, tc.to, 1))))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", reason, err, tc.want)
		}
	}
}
