package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTogether(t *testing.T) {
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	other := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"}
	program := func(name string, kind schema.GroupVersionKind, selector string, namespaces ...string) *Program {
		return &Program{Name: name, File: name + ".yaml", Owner: Owner{GVK: kind, LabelSelector: selector}, Namespaces: namespaces}
	}
	excluding := program("b", thing, "")
	excluding.Exclude = []string{"x"}
	cases := map[string]struct {
		reason string
		a, b   *Program
		want   string // in the error; empty: none
	}{
		"SameName":            {reason: "the name is the mark on children", a: program("a", thing, "", "x"), b: program("a", other, "", "y"), want: "has the name of"},
		"OtherKind":           {reason: "different owners", a: program("a", thing, ""), b: program("b", other, "")},
		"SameKind":            {reason: "both serve every owner", a: program("a", thing, ""), b: program("b", thing, ""), want: "both serve Thing.example.com"},
		"OtherNamespaces":     {reason: "no namespace in common", a: program("a", thing, "", "x"), b: program("b", thing, "", "y")},
		"OneNamespaceInBoth":  {reason: "a namespace in common", a: program("a", thing, "", "x", "y"), b: program("b", thing, "", "y"), want: "both serve"},
		"AllAndOne":           {reason: "all namespaces have the one among them", a: program("a", thing, ""), b: program("b", thing, "", "y"), want: "both serve"},
		"AllButThatOne":       {reason: "the one is excluded", a: program("a", thing, "", "x"), b: excluding},
		"OtherSelectors":      {reason: "selectors that differ", a: program("a", thing, "t=1"), b: program("b", thing, "t=2")},
		"SelectorAndAnything": {reason: "no selector selects all", a: program("a", thing, "t=1"), b: program("b", thing, ""), want: "both serve"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, programs := range [][]*Program{{tc.a, tc.b}, {tc.b, tc.a}} {
				err := Together(programs)
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
				}
			}
		})
	}
}
