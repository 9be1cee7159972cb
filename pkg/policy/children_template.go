package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// notOurs are fields of metadata that a template must not set: the API server
// does, or Ambit.
var notOurs = strings.Fields(`generateName uid resourceVersion generation creationTimestamp deletionTimestamp
	deletionGracePeriodSeconds selfLink managedFields ownerReferences`)

func (c *compiler) checkTemplate(n *yaml.Node, what string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	if lookup(n, "status") != nil {
		c.at(keyNode(n, "status"), "%s.status cannot be set: the status of a child is written by who serves its kind", what)
	}
	metadata := lookup(n, "metadata")
	if metadata == nil {
		c.at(n, "%s.metadata.name is required", what)
		return
	}
	if metadata.Kind != yaml.MappingNode {
		c.at(metadata, "%s.metadata must be a mapping, is %s", what, describe(metadata))
		return
	}
	c.checkTemplateMetadata(metadata, what+".metadata")
}

func (c *compiler) checkTemplateMetadata(n *yaml.Node, what string) {
	switch name := lookup(n, "name"); {
	case name == nil:
		c.at(n, "%s.name is required", what)
	case !isTextNode(name) || name.Value == "":
		c.at(name, "%s.name must be a string, is %s%s", what, describe(name), quoteHint(name))
	}
	pairs(n, func(key, _ *yaml.Node) {
		if slices.Contains(notOurs, key.Value) {
			c.at(key, "%s.%s cannot be set in a template", what, key.Value)
		}
	})
	c.checkNamespace(lookup(n, "namespace"), what+".namespace")
	c.checkKeys(lookup(n, "labels"), "label")
	c.checkKeys(lookup(n, "annotations"), "annotation")
	c.checkFinalizers(lookup(n, "finalizers"))
}

func (c *compiler) checkNamespace(n *yaml.Node, what string) {
	switch {
	case n == nil || n.Kind == yaml.AliasNode:
	case !isTextNode(n):
		c.at(n, "%s must be a string, is %s%s", what, describe(n), quoteHint(n))
	case !strings.Contains(n.Value, "${"):
		for _, problem := range validation.IsDNS1123Label(n.Value) {
			c.at(n, "%s %q is not valid: %s", what, shorten(n.Value), brief(problem))
		}
	}
}

// checkKeys refuses labels or annotations that are Ambit's own. What an expression gives is
// dropped by the plan.
func (c *compiler) checkKeys(n *yaml.Node, kind string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	pairs(n, func(key, _ *yaml.Node) {
		if v1alpha1.IsReservedKey(key.Value) || kind == "label" && key.Value == v1alpha1.LabelManagedBy {
			c.at(key, "%s %s is set by Ambit itself", kind, key.Value)
		}
	})
}

// checkFinalizers refuses finalizers that are Ambit's own.
func (c *compiler) checkFinalizers(n *yaml.Node) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return
	}
	for _, finalizer := range n.Content {
		if v1alpha1.IsReservedKey(finalizer.Value) {
			c.at(finalizer, "finalizer %s is set by Ambit itself", finalizer.Value)
		}
	}
}
