package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

const torn = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p, namespace: ns, labels: nonsense}
spec:
  serviceAccountName: bot
  scope: {namespaces: [a], exclude: [b], namespaceSelector: {matchLabels: {c: d}}}
  owner: {apiVersion: v1, kind: ConfigMap, filter: "object.x ==", selector: {matchLabels: {e: f}}, more: 1}
  children: {a: b}
  children: [{id: 1}]
`

func salvage(t *testing.T, text string) (*policy.Program, error) {
	t.Helper()
	documents, err := syntax.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return policy.Salvage(documents[0])
}

func TestSalvage(t *testing.T) {
	p, err := salvage(t, torn)
	if err != nil {
		t.Fatal(err)
	}
	var all syntax.Errors
	if !errors.As(p.CleanupOnly, &all) || len(all) < 4 {
		t.Errorf("it is broken by %v, want all mistakes", p.CleanupOnly)
	}
	got := []any{p.Name, p.Namespace, p.Identity(), p.Namespaces, p.Exclude, p.NamespaceSelector.String(), p.Owner.GVK.String(), p.Owner.LabelSelector, len(p.Children), p.Owner.SkipStatus, p.Protect == nil, p.NeedsFinalizer()}
	want := []any{"p", "ns", "system:serviceaccount:ns:bot", []string{"a"}, []string{"b"}, "c=d", "/v1, Kind=ConfigMap", "", 0, true, true, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSalvageProtects(t *testing.T) {
	p, err := salvage(t, torn+"  protect: {while: \"][\"}\n  status: {a: b}\n")
	if err != nil {
		t.Fatal(err)
	}
	held, err := p.Protect.While.EvalBool(context.Background(), cel.Activation{})
	if err != nil || !held {
		t.Errorf("what protects cannot be told, and gives %t, %v", held, err)
	}
	if p.Owner.SkipStatus {
		t.Error("the policy writes a status, but is silent")
	}
}

func TestSalvageRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ reason, old, new, want string }{
		"Name":      {reason: "children are found by the policy's name", old: "name: p,", new: "name: [],", want: "metadata.name must be a string"},
		"NoName":    {reason: "a policy without a name never made anything", old: "name: p, ", want: "metadata.name is required"},
		"Scope":     {reason: "a scope that is not understood may be any", old: "namespaces: [a]", new: "namespaces: a", want: "must be a list"},
		"Typo":      {reason: "a field of the scope that is not known could limit it", old: "exclude: [b]", new: "excludes: [b]", want: `unknown field "excludes"`},
		"Alias":     {reason: "an alias is not followed", old: "serviceAccountName: bot", new: "serviceAccountName: *bot", want: "aliases are not supported"},
		"TwoScopes": {reason: "one of them is wrong", old: "  scope:", new: "  scope: {}\n  scope:", want: "for the second time"},
		"Kind":      {reason: "whose owners?", old: "kind: ConfigMap", new: "kind: [ConfigMap]", want: "spec.owner.kind must be a string"},
		"Account":   {reason: "it acts as nobody else instead", old: "serviceAccountName: bot", new: "serviceAccountName: 7", want: "must be a string"},
		"Spec":      {reason: "there is no owner", old: "spec:", new: "more:", want: "spec is required"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(torn, tc.old, tc.new, 1)
			if name == "Alias" {
				text = strings.Replace(text, "name: p", "name: &bot p", 1)
			}
			p, err := salvage(t, text)
			if p != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, %v", tc.reason, p, err)
			}
			checkPlaces(t, text, err)
		})
	}
}
