package policy

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func (c *policyCompiler) compileStatus() {
	f := c.specField("status", "status")
	if f.node == nil || f.node.Kind != yaml.MappingNode {
		return
	}
	if syntax.LookupNode(f.node, "conditions") != nil {
		c.At(syntax.KeyNode(f.node, "conditions"), "spec.status.conditions cannot be set in the template: write them under spec.conditions")
	}
	c.program.Status = c.compileTemplate(f, c.scopeOfAll())
	c.checkStatusFields(f.node)
}

// conditionType is what the API server accepts as the type of a condition.
var conditionType = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)

const mostConditionType = 316

func (c *policyCompiler) compileConditions() {
	c.checkConditionsField()
	seen := map[string]bool{}
	for i, spec := range c.policy.Spec.Conditions {
		what := "conditions." + spec.Type
		f := c.specField(what, "conditions", i)
		c.notePlace(what, f.node)
		c.checkConditionType(f.below("", "type"), seen)
		c.program.Conditions = append(c.program.Conditions, Condition{
			Type:    spec.Type,
			Status:  c.compileExpr(f.below(what+".status", "status"), c.scopeOfAll(), wantStatus),
			Reason:  c.compileExpr(f.below(what+".reason", "reason"), c.scopeOfAll(), wantString),
			Message: c.compileExpr(f.below(what+".message", "message"), c.scopeOfAll(), wantString),
		})
	}
}

func (c *policyCompiler) checkConditionType(f field, seen map[string]bool) {
	if !f.isText() {
		return
	}
	switch t := f.node.Value; {
	case v1alpha1.IsReservedCondition(t):
		c.At(f.node, "condition %s is set by Ambit itself", t)
	case seen[t]:
		c.At(f.node, "condition %s stands here for the second time", t)
	case len(t) > mostConditionType || !conditionType.MatchString(t):
		c.At(f.node, "%q is not the type of a condition, as in Available or example.com/Available", syntax.ShortenText(t))
	default:
		seen[t] = true
	}
}

// mostDeep is how deep a status is compared with its schema.
const mostDeep = 32

// checkStatusFields refuses fields of the status template that the owner's kind does not
// have: the API server drops them without a word.
func (c *policyCompiler) checkStatusFields(template *yaml.Node) {
	const status = `owner["status"]`
	if c.mayWrite(c.keyInSpec("status"), status) {
		c.checkFieldsBelow(template, status, mostDeep)
	}
}

// checkConditionsField is the same for conditions.
func (c *policyCompiler) checkConditionsField() {
	if len(c.policy.Spec.Conditions) > 0 {
		c.mayWrite(c.keyInSpec("conditions"), `owner["status"]["conditions"]`)
	}
}

func (t *policyText) keyInSpec(name string) *yaml.Node {
	return syntax.KeyNode(syntax.LookupNearest(t.root, "spec"), name)
}

// checkFieldsBelow is checkStatusFields for n, which stands at a path. What is computed is not
// looked at.
func (c *policyCompiler) checkFieldsBelow(n *yaml.Node, path string, deep int) {
	if deep == 0 {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			c.checkFieldsBelow(item, path+"[0]", deep-1)
		}
	case yaml.MappingNode:
		syntax.EachPair(n, func(key, value *yaml.Node) {
			field := path + "[" + strconv.Quote(key.Value) + "]"
			if !strings.Contains(key.Value, "${") && c.mayWrite(key, field) {
				c.checkFieldsBelow(value, field, deep-1)
			}
		})
	}
}

// mayWrite says whether the owner may have the field at a path, as an expression that
// reads it would be told, and else adds that as a mistake at a key. Where nothing is
// known of the owner it is false, and no mistake.
func (c *policyCompiler) mayWrite(key *yaml.Node, path string) bool {
	if c.symbols.types["owner"] == nil {
		return false
	}
	env := c.environmentFor(scope{vars: []string{"owner"}})
	if env == nil {
		return false
	}
	_, issues := env.CompileExpr(path)
	for _, issue := range issues {
		c.At(key, "%s", issue.Message)
	}
	return len(issues) == 0
}
