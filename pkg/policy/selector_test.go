package policy_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// watchSelector compiles a selector in flow style.
func watchSelector(t *testing.T, selector string) policy.Selector {
	t.Helper()
	text := `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  watches:
    - {id: pods, apiVersion: v1, kind: Pod, selector: ` + selector + `}
`
	documents, err := syntax.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	return program.Watches[0].Selector
}

func TestSelector(t *testing.T) {
	a := cel.Activation{"owner": map[string]any{"name": "it", "bad": "not a label", "number": int64(1)}}
	for name, c := range map[string]struct {
		reason, selector           string
		exact, relaxed, key, value string
		specific                   bool
		err                        string
	}{
		"None":       {reason: "nothing selects all", selector: "{}"},
		"Literal":    {reason: "nothing depends on the owner", selector: "{matchLabels: {b: c, a: ''}}", exact: "a=,b=c", relaxed: "a=,b=c"},
		"Equality":   {reason: "the label must be there", selector: `{matchLabels: {a: "x-${owner.name}", b: c}}`, exact: "a=x-it,b=c", relaxed: "a,b=c", key: "a", value: "x-it", specific: true},
		"OneOf":      {reason: "one value of In is an equality", selector: `{matchExpressions: [{key: a, operator: In, values: ["${owner.name}"]}]}`, exact: "a in (it)", relaxed: "a", key: "a", value: "it", specific: true},
		"Some":       {reason: "several values are no index", selector: `{matchExpressions: [{key: a, operator: In, values: [b, "${owner.name}"]}]}`, exact: "a in (b,it)", relaxed: "a", specific: true},
		"NotIn":      {reason: "objects without the label are selected too", selector: `{matchExpressions: [{key: a, operator: NotIn, values: ["${owner.name}"]}]}`, exact: "a notin (it)", specific: true},
		"BadValue":   {reason: "the API server would refuse it", selector: `{matchLabels: {a: "${owner.bad}"}}`, err: `label "a"`},
		"NotAString": {reason: "labels are strings", selector: `{matchLabels: {a: "${owner.number}"}}`, err: "want a string"},
		"NoKey":      {reason: "the error of the expression is said", selector: `{matchLabels: {a: "${owner.none}"}}`, err: "no such key"},
	} {
		t.Run(name, func(t *testing.T) {
			s := watchSelector(t, c.selector)
			exact, err := s.ForOwner(context.Background(), a)
			key, value, indexErr := s.IndexLabel(context.Background(), a)
			if c.err != "" {
				if err == nil || indexErr == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: errors %v and %v, want %q", c.reason, err, indexErr, c.err)
				}
				return
			}
			if err != nil || indexErr != nil {
				t.Fatal(err, indexErr)
			}
			if exact.String() != c.exact || s.RelaxedText() != c.relaxed || key != c.key || value != c.value || s.OwnerSpecific() != c.specific {
				t.Errorf("%s: got %q, %q, %q=%q, %t", c.reason, exact, s.RelaxedText(), key, value, s.OwnerSpecific())
			}
			if _, err := labels.Parse(s.RelaxedText()); err != nil {
				t.Errorf("the API server does not understand %q: %v", s.RelaxedText(), err)
			}
		})
	}
}
