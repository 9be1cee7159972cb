package policy

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// checkMetadata checks namespace and name, which labels, records and field managers have.
func (c *policyCompiler) checkMetadata() {
	c.program.Name, c.program.Namespace = c.policy.Name, c.policy.Namespace
	c.program.Label = v1alpha1.PolicyLabel(c.policy.Namespace, c.policy.Name)
	switch name := syntax.LookupNode(c.root, "metadata", "name"); {
	case name == nil:
		c.At(syntax.LookupNearest(c.root, "metadata"), "metadata.name is required")
	case c.policy.Name != "" || name.Value == "":
		checkName(c.Diagnostics, name, "metadata.name", validation.IsDNS1123Subdomain)
	}
	if n := syntax.LookupNode(c.root, "metadata", "namespace"); n != nil && c.policy.Namespace != "" {
		checkName(c.Diagnostics, n, "metadata.namespace", validation.IsDNS1123Label)
	}
}

// checkServiceAccount checks the account that the policy acts as.
func (c *policyCompiler) checkServiceAccount() {
	n := c.specField("", "serviceAccountName").node
	if n == nil || c.policy.Spec.ServiceAccountName == "" {
		return
	}
	for _, problem := range validation.IsDNS1123Subdomain(n.Value) {
		c.At(n, "spec.serviceAccountName %q is not valid: %s", n.Value, withoutRegex(problem))
	}
	if c.policy.Namespace == "" {
		c.At(n, "spec.serviceAccountName is an account in the policy's own namespace: metadata.namespace is required")
	}
	c.program.ServiceAccount = n.Value
}

// compileScope sets which namespaces are looked at.
func (c *policyCompiler) compileScope() {
	if c.policy.Spec.Scope == nil {
		return
	}
	c.program.Namespaces = c.checkNamespaces("namespaces", c.policy.Spec.Scope.Namespaces)
	c.program.Exclude = c.checkNamespaces("exclude", c.policy.Spec.Scope.Exclude)
	if f := c.specField("scope.namespaceSelector", "scope", "namespaceSelector"); f.node != nil {
		c.program.NamespaceSelector = labels.NewSelector().Add(c.compileSelector(f, nil).literalRequirements()...)
	}
}

func (c *policyCompiler) checkNamespaces(list string, values []string) []string {
	var out []string
	for i, v := range values {
		n := syntax.LookupNearest(c.root, "spec", "scope", list, i)
		switch {
		case v == "":
		case slices.Contains(out, v):
			c.At(n, "namespace %q stands here for the second time", v)
		default:
			checkName(c.Diagnostics, n, fmt.Sprintf("spec.scope.%s[%d]", list, i), validation.IsDNS1123Label)
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
