package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// unsettableMetadata are fields of metadata that a template must not set: the API server
// does, or Ambit.
var unsettableMetadata = strings.Fields(`generateName uid resourceVersion generation creationTimestamp deletionTimestamp
	deletionGracePeriodSeconds selfLink managedFields ownerReferences`)

func checkTemplate(found *syntax.Diagnostics, n *yaml.Node, what string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	if syntax.LookupNode(n, "status") != nil {
		found.At(syntax.KeyNode(n, "status"), "%s.status cannot be set: the status of a child is written by who serves its kind", what)
	}
	metadata := syntax.LookupNode(n, "metadata")
	if metadata == nil {
		found.At(n, "%s.metadata.name is required", what)
		return
	}
	if metadata.Kind != yaml.MappingNode {
		found.At(metadata, "%s.metadata must be a mapping, is %s", what, syntax.DescribeNode(metadata))
		return
	}
	checkTemplateMetadata(found, metadata, what+".metadata")
}

func checkTemplateMetadata(found *syntax.Diagnostics, n *yaml.Node, what string) {
	switch name := syntax.LookupNode(n, "name"); {
	case name == nil:
		found.At(n, "%s.name is required", what)
	case !syntax.IsText(name) || name.Value == "":
		found.At(name, "%s.name must be a string, is %s%s", what, syntax.DescribeNode(name), syntax.QuoteHint(name))
	}
	syntax.EachPair(n, func(key, _ *yaml.Node) {
		if slices.Contains(unsettableMetadata, key.Value) {
			found.At(key, "%s.%s cannot be set in a template", what, key.Value)
		}
	})
	checkNamespace(found, syntax.LookupNode(n, "namespace"), what+".namespace")
	checkKeys(found, syntax.LookupNode(n, "labels"), "label")
	checkKeys(found, syntax.LookupNode(n, "annotations"), "annotation")
	checkFinalizers(found, syntax.LookupNode(n, "finalizers"))
}

func checkNamespace(found *syntax.Diagnostics, n *yaml.Node, what string) {
	switch {
	case n == nil || n.Kind == yaml.AliasNode:
	case !syntax.IsText(n):
		found.At(n, "%s must be a string, is %s%s", what, syntax.DescribeNode(n), syntax.QuoteHint(n))
	case !strings.Contains(n.Value, "${"):
		for _, problem := range validation.IsDNS1123Label(n.Value) {
			found.At(n, "%s %q is not valid: %s", what, syntax.ShortenText(n.Value), withoutRegex(problem))
		}
	}
}

// checkKeys refuses labels or annotations that are Ambit's own. What an expression gives is
// dropped by the plan.
func checkKeys(found *syntax.Diagnostics, n *yaml.Node, kind string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	syntax.EachPair(n, func(key, _ *yaml.Node) {
		if v1alpha1.IsReservedKey(key.Value) || kind == "label" && key.Value == v1alpha1.LabelManagedBy {
			found.At(key, "%s %s is set by Ambit itself", kind, key.Value)
		}
	})
}

// checkFinalizers refuses finalizers that are Ambit's own.
func checkFinalizers(found *syntax.Diagnostics, n *yaml.Node) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return
	}
	for _, finalizer := range n.Content {
		if v1alpha1.IsReservedKey(finalizer.Value) {
			found.At(finalizer, "finalizer %s is set by Ambit itself", finalizer.Value)
		}
	}
}
