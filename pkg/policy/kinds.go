package policy

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// gvk returns the literal apiVersion and kind in n, a mapping. A field that is not
// there is reported only if missing is set: elsewhere decodePolicy has done so.
func (c *compiler) gvk(n *yaml.Node, what string, missing bool) schema.GroupVersionKind {
	if n == nil || n.Kind != yaml.MappingNode {
		return schema.GroupVersionKind{}
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if missing && lookup(n, name) == nil {
			c.at(n, "%s.%s is required", what, name)
		}
	}
	version, kind := lookup(n, "apiVersion"), lookup(n, "kind")
	out := c.groupVersion(version, what+".apiVersion").WithKind("")
	if c.isLiteral(kind, what+".kind") {
		if !kindName.MatchString(kind.Value) {
			c.at(kind, "%s.kind %q is not the name of a kind, as in Deployment", what, shorten(kind.Value))
		}
		out.Kind = kind.Value
	}
	return out
}

// isBuiltIn says whether a group is one of Kubernetes itself.
func isBuiltIn(group string) bool { return group == "" || slices.Contains(builtInGroups, group) }

var builtInGroups = strings.Fields(`admissionregistration.k8s.io apiextensions.k8s.io apiregistration.k8s.io apps
	authentication.k8s.io authorization.k8s.io autoscaling batch certificates.k8s.io coordination.k8s.io
	discovery.k8s.io events.k8s.io extensions flowcontrol.apiserver.k8s.io internal.apiserver.k8s.io
	networking.k8s.io node.k8s.io policy rbac.authorization.k8s.io resource.k8s.io scheduling.k8s.io
	storage.k8s.io storagemigration.k8s.io`)

func (c *compiler) groupVersion(n *yaml.Node, what string) schema.GroupVersion {
	if !c.isLiteral(n, what) {
		return schema.GroupVersion{}
	}
	gv, err := schema.ParseGroupVersion(n.Value)
	if err != nil || len(validation.IsDNS1035Label(gv.Version)) > 0 ||
		gv.Group != "" && len(validation.IsDNS1123Subdomain(gv.Group)) > 0 {
		c.at(n, "%s %q is not a group and a version, as in apps/v1", what, shorten(n.Value))
	}
	return gv
}

// isLiteral says whether n is a string with no CEL in it. nil is not.
func (c *compiler) isLiteral(n *yaml.Node, what string) bool {
	if n == nil {
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		if strings.Contains(what, "template") {
			c.at(n, "%s must be a string, is %s%s", what, describe(n), quoteHint(n))
		}
		return false
	}
	if i := strings.Index(n.Value, "${"); i >= 0 {
		c.in(n, i, "%s must be literal: what a policy watches is known before it runs", what)
		return false
	}
	return n.Value != "" || strings.Contains(what, "template")
}
