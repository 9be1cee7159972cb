package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	k8sfields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func (c *policyCompiler) compileWatches() {
	for i, w := range c.policy.Spec.Watches {
		what := "watches." + w.ID
		f := c.specField(what, "watches", i)
		c.notePlace(what, f.node)
		selecting := c.scopeOfSelection()
		out := &Watch{ID: w.ID, GVK: readKind(c.Diagnostics, f.node, fmt.Sprintf("spec.watches[%d]", i), false)}
		out.Name = c.compileText(f.below(what+".name", "name"), selecting, nameOfObject)
		out.Namespace, out.AllNamespaces = c.compileWatchNamespace(f.below(what+".namespace", "namespace"))
		out.FieldTemplate = c.compileText(f.below(what+".fieldSelector", "fieldSelector"), selecting, fieldSelector)
		out.Selector = c.compileSelector(f.below(what+".selector", "selector"), &selecting)
		out.Filter = c.compileExpr(f.below(what+".filter", "filter"), scope{vars: []string{"object", "owner"}, object: w.ID}, wantBool)
		pushed := pushDown(out.Filter, out.GVK)
		out.Selector = out.Selector.withRequirements(pushed.labels)
		out.FieldSelector = pushed.fields
		c.program.Watches = append(c.program.Watches, out)
	}
}

// everyNamespace is what stands for all namespaces.
const everyNamespace = "*"

func (c *policyCompiler) compileWatchNamespace(f field) (namespace *cel.Template, all bool) {
	if f.isText() && f.node.Value == everyNamespace {
		c.notePlace(f.what, f.node)
		return nil, true
	}
	return c.compileText(f, c.scopeOfSelection(), nameOfNamespace), false
}

// compileText compiles a template of text. check is given the text with something else in
// place of its expressions, and returns what is wrong with it.
func (c *expressionCompiler) compileText(f field, s scope, check func(string) string) *cel.Template {
	if !f.isText() {
		return nil
	}
	t := c.compileTemplate(f, s)
	if t == nil {
		return nil
	}
	if problem := check(withoutExpressions(f.node.Value)); problem != "" {
		c.At(f.node, "%s %q is not valid: %s", f.what, syntax.ShortenText(f.node.Value), problem)
		return nil
	}
	return t
}

// withoutExpressions puts a word in place of what is from the first expression of a
// template to its last.
func withoutExpressions(text string) string {
	from, to := strings.Index(text, "${"), strings.LastIndex(text, "}")
	if from < 0 || to < from {
		return text
	}
	return text[:from] + "x" + text[to+1:]
}

func nameOfNamespace(text string) string {
	if strings.Contains(text, everyNamespace) {
		return "* stands alone, for all namespaces"
	}
	return firstProblem(validation.IsDNS1123Label(text))
}

func nameOfObject(text string) string {
	if text == everyNamespace {
		return "leave it out for objects of any name"
	}
	return firstProblem(content.IsPathSegmentName(text))
}

func fieldSelector(text string) string {
	if text == "x" {
		return "" // all of it is computed
	}
	selector, err := k8sfields.ParseSelector(text)
	switch {
	case err != nil:
		return err.Error() + "; a field selector is like spec.nodeName=a,status.phase!=Failed"
	case selector.Empty():
		return "it selects nothing"
	}
	return ""
}
