package policy

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mostDeep is how deep a status is compared with its schema.
const mostDeep = 32

// writtenStatus refuses fields of the status template that the owner's kind does not
// have: the API server drops them without a word.
func (c *compiler) writtenStatus(template *yaml.Node) {
	const status = `owner["status"]`
	if c.mayWrite(c.keyInSpec("status"), status) {
		c.writtenBelow(template, status, mostDeep)
	}
}

// writtenConditions is the same for conditions.
func (c *compiler) writtenConditions() {
	if len(c.policy.Spec.Conditions) > 0 {
		c.mayWrite(c.keyInSpec("conditions"), `owner["status"]["conditions"]`)
	}
}

func (c *compiler) keyInSpec(name string) *yaml.Node { return keyNode(find(c.root, "spec"), name) }

// writtenBelow is writtenStatus for n, which stands at a path. What is computed is not
// looked at.
func (c *compiler) writtenBelow(n *yaml.Node, path string, deep int) {
	if deep == 0 {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			c.writtenBelow(item, path+"[0]", deep-1)
		}
	case yaml.MappingNode:
		pairs(n, func(key, value *yaml.Node) {
			field := path + "[" + strconv.Quote(key.Value) + "]"
			if !strings.Contains(key.Value, "${") && c.mayWrite(key, field) {
				c.writtenBelow(value, field, deep-1)
			}
		})
	}
}

// mayWrite says whether the owner may have the field at a path, as an expression that
// reads it would be told, and else adds that as a mistake at a key. Where nothing is
// known of the owner it is false, and no mistake.
func (c *compiler) mayWrite(key *yaml.Node, path string) bool {
	if c.types.objects["owner"] == nil {
		return false
	}
	env := c.env(scope{vars: []string{"owner"}})
	if env == nil {
		return false
	}
	_, issues := env.Compile(path)
	for _, issue := range issues {
		c.at(key, "%s", issue.Message)
	}
	return len(issues) == 0
}
