package policy

import (
	"cmp"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func (c *policyCompiler) compileChildren() {
	for i, spec := range c.policy.Spec.Children {
		what := "children." + spec.ID
		f := c.specField(what, "children", i)
		c.notePlace(what, f.node)
		c.checkChildModes(f, i)
		before := c.scopeBefore(spec.ID)
		forEach := c.compileForEach(f.below(what+".forEach", "forEach"), before, spec.ForEach)
		objects := c.objectsIn(forEach, before)
		of := c.elementOfObjects(objects)
		path, template := fmt.Sprintf("spec.children[%d].template", i), f.below(what+".template", "template")
		out := &Child{
			ID:             spec.ID,
			GVK:            readKind(c.Diagnostics, template.node, path, true),
			When:           c.compileExpr(f.below(what+".when", "when"), before, wantBool),
			ForEach:        forEach,
			Template:       c.compileTemplate(template, before.ofEach(spec, of)),
			ReadyWhen:      c.compileReadyWhen(f, spec, c.scopeOfAll().ofEach(spec, of)),
			CrossNamespace: isElsewhere(template.node),
			Apply:          cmp.Or(spec.Apply, v1alpha1.ApplyApply),
			Existing:       cmp.Or(spec.Existing, v1alpha1.ExistingRefuse),
			OnDelete:       cmp.Or(spec.OnDelete, v1alpha1.DeleteDelete),
			Update:         cmp.Or(spec.Update, v1alpha1.UpdateParallel),
			Keep:           int(spec.Keep),
			KeepWhen:       c.compileExpr(f.below(what+".keepWhen", "keepWhen"), c.scopeOfKept(spec.ID), wantBool),
		}
		c.recipes.compileMade(f, spec, out, before.ofEach(spec, of))
		c.readElements(forEach, objects, before)
		checkTemplate(c.Diagnostics, template.node, path)
		c.program.Children = append(c.program.Children, out)
	}
}

func (c *policyCompiler) compileReadyWhen(f field, spec v1alpha1.Child, s scope) []*cel.Expr {
	s.one = spec.ID
	var out []*cel.Expr
	for k := range spec.ReadyWhen {
		out = append(out, c.compileExpr(f.below(fmt.Sprintf("%s.readyWhen[%d]", f.what, k), "readyWhen", k), s, wantBool))
	}
	return out
}

// checkChildModes refuses what does not go together.
func (c *policyCompiler) checkChildModes(f field, i int) {
	spec := c.policy.Spec.Children[i]
	refuse := func(name, why string) {
		if f.below("", name).node != nil {
			c.At(syntax.KeyNode(f.node, name), "spec.children[%d].%s %s", i, name, why)
		}
	}
	if spec.ForEach == nil && f.below("", "forEach").node == nil {
		refuse("update", "is for a child with forEach: this one is one object")
		refuse("keep", "is for a child with forEach: this one is one object")
		refuse("keepWhen", "is for a child with forEach: this one is one object")
	}
	if spec.Keep > 0 {
		refuse("keepWhen", "is not for a child with keep: one of the two says which objects stay")
	}
	if spec.Existing != v1alpha1.ExistingMerge {
		return
	}
	if spec.Apply == v1alpha1.ApplyCreate || spec.Apply == v1alpha1.ApplyRecreate {
		refuse("apply", "cannot be "+string(spec.Apply)+" with existing: Merge, which never makes an object")
	}
	refuse("onDelete", "is not for existing: Merge, which never deletes an object: the fields go that were added")
	refuse("keep", "is not for existing: Merge: the fields go that were added")
	refuse("keepWhen", "is not for existing: Merge: the fields go that were added")
}

// isElsewhere says whether a template may set another namespace than the owner's.
func isElsewhere(template *yaml.Node) bool {
	if template == nil {
		return false
	}
	n := syntax.LookupNode(template, "metadata", "namespace")
	return n != nil && n.Value != "${owner.metadata.namespace}"
}

// compileEnsured compiles the objects of the policy itself.
func (c *policyCompiler) compileEnsured() {
	for i, spec := range c.policy.Spec.Ensure {
		what, path := "ensure."+spec.ID, fmt.Sprintf("spec.ensure[%d].template", i)
		f := c.specField(what, "ensure", i)
		c.notePlace(what, f.node)
		template := f.below(what+".template", "template")
		c.program.Ensured = append(c.program.Ensured, &Child{
			ID:             spec.ID,
			GVK:            readKind(c.Diagnostics, template.node, path, true),
			Template:       c.compileTemplate(template, scope{vars: []string{"policy"}}),
			CrossNamespace: isElsewhere(template.node),
			OnDelete:       cmp.Or(spec.OnDelete, v1alpha1.DeleteDelete),
		})
		checkTemplate(c.Diagnostics, template.node, path)
	}
}
