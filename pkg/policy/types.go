package policy

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// Schemas knows the fields of kinds.
type Schemas interface {
	// Schema returns the fields of a kind's objects, and whether they are known. It is
	// asked at most once for each kind of a policy.
	Schema(gvk schema.GroupVersionKind) (*cel.Schema, bool)
}

// symbolTypes are the schemas of what expressions read, as far as they are known.
type symbolTypes struct {
	schemas Schemas // nil: none is known
	byKind  map[schema.GroupVersionKind]*cel.Schema
	// types are those of `owner`, `policy` and `access`, and by the ids of children and
	// watches of one object of these.
	types     map[string]*cel.Schema
	listTypes map[string]*cel.Schema // the same, for lists of objects
}

// collectTypes looks up the kinds that the policy names.
func (t *symbolTypes) collectTypes(text *policyText, spec v1alpha1.ReconcilePolicySpec) {
	t.types = map[string]*cel.Schema{"policy": typeOfPolicy(), "access": typeOfAccess()}
	if t.schemas == nil {
		return
	}
	t.byKind, t.listTypes = map[schema.GroupVersionKind]*cel.Schema{}, map[string]*cel.Schema{}
	t.addType("owner", text.specField("", "owner").node)
	for i, child := range spec.Children {
		t.addType(child.ID, text.specField("", "children", i, "template").node)
	}
	for i, w := range spec.Watches {
		t.addType(w.ID, text.specField("", "watches", i).node)
	}
}

// addType looks up the kind that stands in n; what is wrong with it is said elsewhere.
func (t *symbolTypes) addType(name string, n *yaml.Node) {
	gvk, ok := syntax.LiteralKind(n)
	if !ok || t.types[name] != nil {
		return
	}
	known, asked := t.byKind[gvk]
	if !asked {
		known, _ = t.schemas.Schema(gvk)
		t.byKind[gvk] = known
	}
	if known != nil {
		t.types[name], t.listTypes[name] = known, cel.ListOf(known)
	}
}

// typeOfPolicy is what is known of `policy`.
func typeOfPolicy() *cel.Schema { return withFields("name", "namespace") }

// typeOfAccess is what is known of `access`.
func typeOfAccess() *cel.Schema {
	denied := cel.ListOf(withFields("verb", "group", "resource", "namespace", "name", "message"))
	return cel.ObjectOf(map[string]func() *cel.Schema{"denied": func() *cel.Schema { return denied }})
}

// withFields is an object of plain values.
func withFields(names ...string) *cel.Schema {
	fields := map[string]func() *cel.Schema{}
	for _, name := range names {
		fields[name] = func() *cel.Schema { return nil }
	}
	return cel.ObjectOf(fields)
}

// typesIn returns the schema of each variable of a scope, nil where none is known. All
// is nil if none is known of any.
func (t *symbolTable) typesIn(s scope) map[string]*cel.Schema {
	var out map[string]*cel.Schema
	for _, name := range s.vars {
		known := t.typeOf(name, s)
		if known == nil {
			continue
		}
		if out == nil {
			out = map[string]*cel.Schema{}
		}
		out[name] = known
	}
	return out
}

func (t *symbolTable) typeOf(name string, s scope) *cel.Schema {
	switch {
	case name == "object":
		return t.types[s.object]
	case name == s.element:
		return s.of
	}
	if name != s.one && slices.Contains(t.lists, name) {
		return t.listTypes[name]
	}
	return t.types[name]
}
