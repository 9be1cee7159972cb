package policy

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validate/content"
	k8sfields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

func (c *compiler) watches() {
	for i, w := range c.policy.Spec.Watches {
		what := "watches." + w.ID
		f := c.field(what, "watches", i)
		c.place(what, f.node)
		selecting := c.selecting()
		out := &Watch{ID: w.ID, GVK: c.gvk(f.node, fmt.Sprintf("spec.watches[%d]", i), false)}
		out.Name = c.text(f.below(what+".name", "name"), selecting, nameOfObject)
		out.Namespace, out.AllNamespaces = c.watchNamespace(f.below(what+".namespace", "namespace"))
		out.FieldTemplate = c.text(f.below(what+".fieldSelector", "fieldSelector"), selecting, fieldSelector)
		out.Selector = c.selector(f.below(what+".selector", "selector"), &selecting)
		out.Filter = c.expr(f.below(what+".filter", "filter"), scope{vars: []string{"object", "owner"}, object: w.ID}, wantBool)
		pushed := pushDown(out.Filter, out.GVK)
		out.Selector = out.Selector.with(pushed.labels)
		out.FieldSelector = pushed.fields
		c.program.Watches = append(c.program.Watches, out)
	}
}

// everyNamespace is what stands for all namespaces.
const everyNamespace = "*"

func (c *compiler) watchNamespace(f field) (namespace *cel.Template, all bool) {
	if f.isText() && f.node.Value == everyNamespace {
		c.place(f.what, f.node)
		return nil, true
	}
	return c.text(f, c.selecting(), nameOfNamespace), false
}

// text compiles a template of text. check is given the text with something else in
// place of its expressions, and returns what is wrong with it.
func (c *compiler) text(f field, s scope, check func(string) string) *cel.Template {
	if !f.isText() {
		return nil
	}
	t := c.template(f, s)
	if t == nil {
		return nil
	}
	if problem := check(withoutExpressions(f.node.Value)); problem != "" {
		c.at(f.node, "%s %q is not valid: %s", f.what, shorten(f.node.Value), problem)
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
	return first(validation.IsDNS1123Label(text))
}

func nameOfObject(text string) string {
	if text == everyNamespace {
		return "leave it out for objects of any name"
	}
	return first(content.IsPathSegmentName(text))
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

func first(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return brief(problems[0])
}

// isTextNode says whether n is a string.
func isTextNode(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!str" }
