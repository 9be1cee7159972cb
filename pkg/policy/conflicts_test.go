package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func selects(text string) labels.Selector {
	selector, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return selector
}

func TestTogether(t *testing.T) {
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	other := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"}
	program := func(name string, kind schema.GroupVersionKind, selector string, namespaces ...string) *Program {
		return &Program{Name: name, Label: name, File: name + ".yaml", Owner: Owner{GVK: kind, Selector: selects(selector)}, Namespaces: namespaces}
	}
	excluding := program("b", thing, "")
	excluding.Exclude = []string{"x"}
	of := func(selector string, namespaces ...string) *Program {
		p := program("p"+selector, thing, "", namespaces...)
		p.NamespaceSelector = selects(selector)
		return p
	}
	quiet := func(name string, silent bool, protect *Protect) *Program {
		p := program(name, thing, "")
		p.Owner.SkipStatus, p.Protect = silent, protect
		return p
	}
	marking := func(selector string, namespaces ...string) *Program {
		p := program("m"+selector, thing, selector, namespaces...)
		p.Deletion = v1alpha1.DeletionOrdered
		return p
	}
	markingNamespaces := func(name string, namespaces ...string) *Program {
		p := marking(name, namespaces...)
		p.Name, p.Label, p.Owner.GVK, p.Owner.Selector = name, name, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, nil
		return p
	}
	pushed := program("pushed", thing, "t=2")
	pushed.Owner.LabelSelector = "t=2"
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
		"NamespacesByLabel":   {reason: "selectors of namespaces that differ", a: of("t=1"), b: of("t=2")},
		"LabelAndNames":       {reason: "names are taken not to have the label", a: of("t=1"), b: program("b", thing, "", "y")},
		"LabelAndSameName":    {reason: "a name in common", a: of("t=1", "y"), b: program("b", thing, "", "y"), want: "both serve"},
		"LabelAndAnything":    {reason: "no scope is every namespace", a: of("t=1"), b: program("b", thing, ""), want: "both serve"},
		"SameNamespaceLabel":  {reason: "the same namespaces", a: of("t=1", "x"), b: func() *Program { p := of("t=1", "y"); p.Name, p.Label = "q", "q"; return p }(), want: "both serve"},
		"MarksByLabel":        {reason: "each sees the owners of the other, whose marks name it", a: marking("t=1"), b: marking("t=2")},
		"MarksSeenByLabel":    {reason: "one sees the owners of the other, whose marks name it", a: marking("t=1"), b: program("b", thing, "t=2")},
		"MarksNotShown":       {reason: "the API server does not show the marked ones, and the others have none", a: marking("t=1"), b: pushed},
		"MarkedNamespaces":    {reason: "all Namespaces are seen, and those that are named served", a: markingNamespaces("a", "x"), b: markingNamespaces("b", "y")},
		"MarksByNamespace":    {reason: "neither looks where the other is", a: marking("", "x"), b: marking("t=2", "y")},
		"MarksOutOfScope":     {reason: "what is excluded is seen all the same, and left alone", a: marking("", "x"), b: func() *Program { p := marking("t=2"); p.Exclude = []string{"x"}; return p }()},
		"Quiet":               {reason: "neither writes on its owners", a: quiet("a", true, nil), b: quiet("b", true, nil)},
		"HalfQuiet":           {reason: "one writes a status, the other may", a: quiet("a", true, nil), b: quiet("b", false, nil), want: "both serve"},
		"QuietFinalizer":      {reason: "the finalizer is one", a: quiet("a", true, &Protect{}), b: quiet("b", true, nil), want: "both serve"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, programs := range [][]*Program{{tc.a, tc.b}, {tc.b, tc.a}} {
				err := CheckConflicts(programs)
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
				}
			}
		})
	}
}

// TestLeaving: who can be cleaned up after beside whom.
func TestLeaving(t *testing.T) {
	program := func(name, home, selector string, suspended bool, namespaces ...string) *Program {
		thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
		return &Program{Name: name, Namespace: home, Label: v1alpha1.PolicyLabel(home, name), Suspend: suspended, Owner: Owner{GVK: thing, Selector: selects(selector)}, Namespaces: namespaces}
	}
	for name, tc := range map[string]struct {
		reason      string
		runs, leave *Program
		refused     bool
	}{
		"SameOwners":     {reason: "what each has made has its name", runs: program("a", "x", "", false), leave: program("b", "x", "", false)},
		"SamePolicy":     {reason: "it runs, or is cleaned up after", runs: program("a", "x", "t=1", false), leave: program("a", "x", "t=2", false), refused: true},
		"OtherNamespace": {reason: "one name in another namespace is another policy", runs: program("a", "x", "", false), leave: program("a", "y", "", true)},
	} {
		t.Run(name, func(t *testing.T) {
			for list, err := range map[string]error{
				"one runs":   CheckRemoval([]*Program{tc.runs}, []*Program{tc.leave}),
				"none runs":  CheckRemoval(nil, []*Program{tc.runs, tc.leave}),
				"all others": CheckRemoval([]*Program{program("z", "x", "", false), tc.runs}, []*Program{program("y", "x", "", false), tc.leave}),
			} {
				if (err != nil) != tc.refused {
					t.Errorf("%s, %s: the error is %v", tc.reason, list, err)
				}
			}
		})
	}
}
