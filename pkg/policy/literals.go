package policy

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// readKind returns the literal apiVersion and kind in n, a mapping. A field that is not
// there is reported only if missing is set: elsewhere DecodePolicy has done so.
func readKind(found *syntax.Diagnostics, n *yaml.Node, what string, missing bool) schema.GroupVersionKind {
	if n == nil || n.Kind != yaml.MappingNode {
		return schema.GroupVersionKind{}
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if missing && syntax.LookupNode(n, name) == nil {
			found.At(n, "%s.%s is required", what, name)
		}
	}
	version, kind := syntax.LookupNode(n, "apiVersion"), syntax.LookupNode(n, "kind")
	out := readGroupVersion(found, version, what+".apiVersion").WithKind("")
	if isLiteral(found, kind, what+".kind") {
		if !kindName.MatchString(kind.Value) {
			found.At(kind, "%s.kind %q is not the name of a kind, as in Deployment", what, syntax.ShortenText(kind.Value))
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

func readGroupVersion(found *syntax.Diagnostics, n *yaml.Node, what string) schema.GroupVersion {
	if !isLiteral(found, n, what) {
		return schema.GroupVersion{}
	}
	gv, err := schema.ParseGroupVersion(n.Value)
	if err != nil || len(validation.IsDNS1035Label(gv.Version)) > 0 ||
		gv.Group != "" && len(validation.IsDNS1123Subdomain(gv.Group)) > 0 {
		found.At(n, "%s %q is not a group and a version, as in apps/v1", what, syntax.ShortenText(n.Value))
	}
	return gv
}

// isLiteral says whether n is a string with no CEL in it. nil is not.
func isLiteral(found *syntax.Diagnostics, n *yaml.Node, what string) bool {
	if n == nil {
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		if strings.Contains(what, "template") {
			found.At(n, "%s must be a string, is %s%s", what, syntax.DescribeNode(n), syntax.QuoteHint(n))
		}
		return false
	}
	if i := strings.Index(n.Value, "${"); i >= 0 {
		found.In(n, i, "%s must be literal: what a policy watches is known before it runs", what)
		return false
	}
	return n.Value != "" || strings.Contains(what, "template")
}

// checkName refuses a name that is too long, or not as check wants it.
func checkName(found *syntax.Diagnostics, n *yaml.Node, what string, check func(string) []string) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	if len(n.Value) > mostName {
		found.At(n, "%s is longer than %d characters: it becomes the value of a label", what, mostName)
		return
	}
	for _, problem := range check(n.Value) {
		found.At(n, "%s %q is not valid: %s", what, n.Value, withoutRegex(problem))
	}
}

// regexes are what Kubernetes adds to the messages of its validation.
var regexes = regexp.MustCompile(` \(e\.g\. .*regex used for validation is '.*?'\)`)

func withoutRegex(problem string) string { return regexes.ReplaceAllString(problem, "") }

// firstProblem returns the first of what is wrong, in few words; empty if nothing is.
func firstProblem(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return withoutRegex(problems[0])
}
