package policy

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// Schemas knows the fields of kinds.
type Schemas interface {
	// Schema returns the fields of a kind's objects, and whether they are known. It is
	// asked at most once for each kind of a policy.
	Schema(gvk schema.GroupVersionKind) (*cel.Schema, bool)
}

// types are the schemas of what expressions read, as far as they are known.
type types struct {
	schemas Schemas // nil: none is known
	byKind  map[schema.GroupVersionKind]*cel.Schema
	// objects are those of `owner`, `policy` and `access`, and by the ids of children and
	// watches of one object of these.
	objects map[string]*cel.Schema
	lists   map[string]*cel.Schema // the same, for lists of objects
}

// collectTypes looks up the kinds that the policy names.
func (c *compiler) collectTypes() {
	c.types.objects = map[string]*cel.Schema{"policy": typeOfPolicy(), "access": typeOfAccess()}
	if c.types.schemas == nil {
		return
	}
	c.types.byKind, c.types.lists = map[schema.GroupVersionKind]*cel.Schema{}, map[string]*cel.Schema{}
	c.types.add("owner", c.field("", "owner").node)
	for i, child := range c.policy.Spec.Children {
		c.types.add(child.ID, c.field("", "children", i, "template").node)
	}
	for i, w := range c.policy.Spec.Watches {
		c.types.add(w.ID, c.field("", "watches", i).node)
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

// add looks up the kind that stands in n; what is wrong with it is said elsewhere.
func (t *types) add(name string, n *yaml.Node) {
	gvk, ok := literalKind(n)
	if !ok || t.objects[name] != nil {
		return
	}
	known, asked := t.byKind[gvk]
	if !asked {
		known, _ = t.schemas.Schema(gvk)
		t.byKind[gvk] = known
	}
	if known != nil {
		t.objects[name], t.lists[name] = known, cel.ListOf(known)
	}
}

// literalKind returns the kind in n, a mapping or nil, if it is legible.
func literalKind(n *yaml.Node) (schema.GroupVersionKind, bool) {
	if n == nil {
		return schema.GroupVersionKind{}, false
	}
	version, kind := lookup(n, "apiVersion"), lookup(n, "kind")
	if version == nil || kind == nil || !isTextNode(version) || !isTextNode(kind) {
		return schema.GroupVersionKind{}, false
	}
	gv, err := schema.ParseGroupVersion(version.Value)
	return gv.WithKind(kind.Value), err == nil
}

// typed returns the schema of each variable of a scope, nil where none is known. All
// is nil if none is known of any.
func (c *compiler) typed(s scope) map[string]*cel.Schema {
	var out map[string]*cel.Schema
	for _, name := range s.vars {
		known := c.typeOf(name, s)
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

func (c *compiler) typeOf(name string, s scope) *cel.Schema {
	switch {
	case name == "object":
		return c.types.objects[s.object]
	case name == s.element:
		return s.of
	}
	if name != s.one && slices.Contains(c.names.lists, name) {
		return c.types.lists[name]
	}
	return c.types.objects[name]
}

// Kinds returns the kinds that a policy names and whose schemas CompileWith asks for, in the
// order in which it does, some more than once. Those that are not legible are left out.
func Kinds(d *Document) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	add := func(n *yaml.Node) {
		if kind, ok := literalKind(n); ok {
			kinds = append(kinds, kind)
		}
	}
	add(lookup(d.root, "spec", "owner"))
	for _, list := range []struct{ name, of string }{{"children", "template"}, {"watches", ""}} {
		items := lookup(d.root, "spec", list.name)
		if items == nil || items.Kind != yaml.SequenceNode {
			continue
		}
		for _, item := range items.Content {
			if list.of != "" {
				item = lookup(item, list.of)
			}
			add(item)
		}
	}
	return kinds
}
