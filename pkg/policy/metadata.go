package policy

import (
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// metadata checks the name, which becomes the value of a label and a part of a
// field manager.
func (c *compiler) metadata() {
	c.program.Name, c.program.Namespace = c.policy.Name, c.policy.Namespace
	switch name := lookup(c.root, "metadata", "name"); {
	case name == nil:
		c.at(find(c.root, "metadata"), "metadata.name is required")
	case c.policy.Name != "" || name.Value == "":
		c.checkName(name, "metadata.name", validation.IsDNS1123Subdomain)
	}
	if n := lookup(c.root, "metadata", "namespace"); n != nil && c.policy.Namespace != "" {
		c.checkName(n, "metadata.namespace", validation.IsDNS1123Label)
	}
}

func (c *compiler) checkName(n *yaml.Node, what string, check func(string) []string) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	if len(n.Value) > mostName {
		c.at(n, "%s is longer than %d characters: it becomes the value of a label", what, mostName)
		return
	}
	for _, problem := range check(n.Value) {
		c.at(n, "%s %q is not valid: %s", what, n.Value, brief(problem))
	}
}

// regexes are what Kubernetes adds to the messages of its validation.
var regexes = regexp.MustCompile(` \(e\.g\. .*regex used for validation is '.*?'\)`)

func brief(problem string) string { return regexes.ReplaceAllString(problem, "") }

// serviceAccount checks the account that the policy acts as.
func (c *compiler) serviceAccount() {
	n := c.field("", "serviceAccountName").node
	if n == nil || c.policy.Spec.ServiceAccountName == "" {
		return
	}
	for _, problem := range validation.IsDNS1123Subdomain(n.Value) {
		c.at(n, "spec.serviceAccountName %q is not valid: %s", n.Value, brief(problem))
	}
	if c.policy.Namespace == "" {
		c.at(n, "spec.serviceAccountName is an account in the policy's own namespace: metadata.namespace is required")
	}
	c.program.ServiceAccount = n.Value
}

// scope sets which namespaces are looked at.
func (c *compiler) scope() {
	if c.policy.Spec.Scope == nil {
		return
	}
	c.program.Namespaces = c.namespaces("namespaces", c.policy.Spec.Scope.Namespaces)
	c.program.Exclude = c.namespaces("exclude", c.policy.Spec.Scope.Exclude)
	if f := c.field("scope.namespaceSelector", "scope", "namespaceSelector"); f.node != nil {
		c.program.NamespaceSelector = labels.NewSelector().Add(c.selector(f, nil).literals()...)
	}
}

func (c *compiler) namespaces(list string, values []string) []string {
	var out []string
	for i, v := range values {
		n := find(c.root, "spec", "scope", list, i)
		switch {
		case v == "":
		case slices.Contains(out, v):
			c.at(n, "namespace %q stands here for the second time", v)
		default:
			c.checkName(n, fmt.Sprintf("spec.scope.%s[%d]", list, i), validation.IsDNS1123Label)
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
