package policy

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// recipeCompiler compiles what a policy says of made values. Like policyCompiler, it adds to the program
// what is right, notes what is not, and goes on.
type recipeCompiler struct {
	*expressionCompiler
	spec    v1alpha1.ReconcilePolicySpec
	program *Program
}

// compileMade compiles the recipes of a child, f, whose objects' expressions see what s says.
func (c *recipeCompiler) compileMade(f field, spec v1alpha1.Child, out *Child, s scope) {
	if f.below("", "make").node == nil {
		return
	}
	c.checkMadeModes(f, out)
	for i, value := range spec.Make {
		at := f.below(fmt.Sprintf("%s.make[%d]", f.what, i), "make", i)
		if at.node == nil || at.node.Kind != yaml.MappingNode {
			continue
		}
		c.notePlace(at.what, at.node)
		if made := c.compileRecipe(at, spec.ID, value, s); made != nil {
			made.What = at.what
			out.Make = append(out.Make, made)
		}
	}
	c.checkMadeTogether(f, out)
}

// checkMadeModes refuses what does not go with made values.
func (c *recipeCompiler) checkMadeModes(f field, out *Child) {
	refuse := func(why string) { c.At(syntax.KeyNode(f.node, "make"), "make %s", why) }
	template := f.below("", "template").node
	switch {
	case out.GVK != schema.GroupVersionKind{Version: "v1", Kind: "Secret"} && !out.GVK.Empty():
		refuse("is for a child of kind Secret, apiVersion v1")
	case out.Existing == v1alpha1.ExistingMerge:
		refuse("does not go with existing: Merge, which never makes an object")
	case out.Apply != v1alpha1.ApplyApply:
		refuse("goes with apply: Apply only")
	}
	if n := syntax.LookupNode(template, "immutable"); n != nil && n.Value != "false" {
		c.At(syntax.KeyNode(template, "immutable"), "an immutable Secret could never be written again: its values are made, and renewed")
	}
	for _, name := range []string{"data", "stringData"} {
		n := syntax.LookupNode(template, name)
		if n != nil && n.Kind != yaml.MappingNode {
			c.At(n, "%s must be a mapping here: make sets other keys of it", name)
		}
	}
}

// checkMadeTogether checks the recipes of one child beside each other and its template.
func (c *recipeCompiler) checkMadeTogether(f field, out *Child) {
	var recipes []recipe.Recipe
	keys := map[string]bool{}
	for _, m := range out.Make {
		recipes = append(recipes, m.Recipe)
		for _, key := range slices.Concat(recipe.AllPrivateKeys(m.Recipe), m.Recipe.PublicKeys()) {
			if keys[key] {
				c.At(syntax.KeyNode(f.node, "make"), "two made values have the key %q", key)
			}
			keys[key] = true
		}
	}
	for _, m := range out.Make {
		if h, ok := m.Recipe.(recipe.Htpasswd); ok {
			for _, problem := range h.ProblemsAmong(recipes) {
				c.At(syntax.KeyNode(f.node, "make"), "htpasswd: %s", problem)
			}
		}
	}
	for _, name := range []string{"data", "stringData"} {
		syntax.EachPair(mappingOr(f.below("", "template", name).node), func(key, _ *yaml.Node) {
			if keys[key.Value] {
				c.At(key, "%s.%s is made: the template must not set it", name, key.Value)
			}
		})
	}
}

// mappingOr is a mapping, empty for what is none.
func mappingOr(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	return n
}

// finishMade says to each CA how long its certificates live, and checks that it is replaced in time. A CA whose Secret may be read
// by others issues certificates for this policy alone: its key can be read by nobody else's expressions.
func (c *recipeCompiler) finishMade() {
	longest := map[string]time.Duration{}
	for _, child := range c.program.Children {
		for _, m := range child.Make {
			if r, ok := m.Recipe.(recipe.Certificate); ok {
				longest[m.Issuer] = max(longest[m.Issuer], r.Lifetime)
			}
		}
	}
	for _, child := range c.program.Children {
		for i, m := range child.Make {
			r, ok := m.Recipe.(recipe.CA)
			if !ok || longest[child.ID] == 0 {
				continue
			}
			r.LeafLifetime = longest[child.ID]
			m.Recipe = r
			for _, problem := range r.FindProblems() {
				k := slices.IndexFunc(c.spec.Children, func(s v1alpha1.Child) bool { return s.ID == child.ID })
				c.At(syntax.KeyNode(c.specField("", "children", k, "make", i).node, "ca"), "ca: %s", problem)
			}
		}
	}
}

// addMadeFields adds the fields that recipes check to those that are kept of a child and of issuers.
func (c *recipeCompiler) addMadeFields() {
	for _, child := range c.program.Children {
		if len(child.Make) == 0 {
			continue
		}
		child.Fields.Add(v1alpha1.AnnotationMade).Add("metadata", "creationTimestamp")
		for _, annotation := range []string{v1alpha1.AnnotationMade, v1alpha1.AnnotationRotate} {
			child.Fields.Add("metadata", "annotations", annotation)
		}
		for _, key := range child.publicKeys() {
			child.Fields.Add("data", key)
		}
		i := slices.IndexFunc(c.spec.Children, func(s v1alpha1.Child) bool { return s.ID == child.ID })
		plain := c.specField("", "children", i, "template", "stringData").node
		syntax.EachPair(mappingOr(plain), func(key, _ *yaml.Node) { child.Fields.Add("data", key.Value) }) // as the API server has it
		for _, m := range child.Make {
			if i := slices.IndexFunc(c.program.Watches, func(w *Watch) bool { return w.ID == m.Issuer }); i >= 0 {
				c.program.Watches[i].Fields.Add("data", "tls.crt").Add("data", "ca.crt")
			}
		}
	}
}
