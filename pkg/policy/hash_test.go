package policy_test

import (
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

const hashed = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  children:
    - id: web
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "1"}}
`

func hashOf(t *testing.T, text string) string {
	t.Helper()
	documents, err := syntax.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	return program.Hash
}

func TestHash(t *testing.T) {
	before := hashOf(t, hashed)
	for name, c := range map[string]struct {
		reason, old, new string
		same             bool
	}{
		"Comment":   {reason: "a comment says nothing", old: "spec:", new: "# why\nspec: # how", same: true},
		"Layout":    {reason: "the same fields in another style", old: `{x: "1"}`, new: "{\n           'x': '1'}", same: true},
		"Label":     {reason: "labels of the policy do nothing", old: "{name: p}", new: "{name: p, labels: {a: b}}", same: true},
		"Name":      {reason: "the name is in labels of children", old: "{name: p}", new: "{name: q}"},
		"Namespace": {reason: "expressions can read it", old: "{name: p}", new: "{name: p, namespace: n}"},
		"Template":  {reason: "another object is made", old: `{x: "1"}`, new: `{x: "2"}`},
		"Kind":      {reason: "another kind is served", old: "kind: App", new: "kind: Apq"},
		"Suspend":   {reason: "nothing is made", old: "spec:", new: "spec:\n  suspend: true"},
		"KeepWhen":  {reason: "other objects stay", old: "- id: web", new: "- id: web\n      forEach: {as: x, in: '[1]'}\n      keepWhen: 'true'"},
		"Keep":      {reason: "other objects stay", old: "- id: web", new: "- id: web\n      forEach: {as: x, in: '[1]'}\n      keep: 1"},
		"Ensure":    {reason: "another object is made", old: "  children", new: "  ensure: [{id: e, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]\n  children"},
		"Status":    {reason: "another status is written", old: "  children", new: "  status: {a: b}\n  children"},
	} {
		t.Run(name, func(t *testing.T) {
			after := hashOf(t, strings.Replace(hashed, c.old, c.new, 1))
			if (after == before) != c.same {
				t.Errorf("%s: the same hash is %t, want %t", c.reason, after == before, c.same)
			}
		})
	}
}
