package cli

import (
	"context"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
)

// cannotFind asks whether the owners of a policy that no namespace limits can be
// found, and warns if not. Where the request grants that already nothing is asked.
func (o *rightsOptions) cannotFind(ctx context.Context, c *cluster, request rbac.Request) (bool, error) {
	selects := request.Program.NamespaceSelector != nil // it is in the namespaces only, and these have to be seen
	if request.OwnersEverywhere || selects || !request.Kind(request.Program.Owner.GVK).Namespaced {
		return false, nil
	}
	owners, namespaces := rbac.Finding(request)
	allowed, err := newReviewer(c).review(ctx, append(owners.Checks(), namespaces.Checks()...))
	if err != nil {
		return false, err
	}
	isAllowed := func(c rbac.Check) bool { return allowed[c] }
	owners, namespaces = owners.Lacking(isAllowed), namespaces.Lacking(isAllowed)
	if len(owners.Rules) == 0 || len(namespaces.Rules) == 0 {
		return false, nil
	}
	o.warn("owners of policy %q cannot be found: %s cannot %s in all namespaces, and cannot %s to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces",
		request.Program.Name, shownSubject(owners.Subject), shownRule(owners.Rules[0]), shownRule(namespaces.Rules[0]))
	return true, nil
}

// shownRule is a rule in a sentence: `list, watch deployments.apps`.
func shownRule(rule rbac.Rule) string {
	resource := rule.Resource
	if rule.Group != "" {
		resource += "." + rule.Group
	}
	return strings.Join(rule.Verbs, ", ") + " " + resource
}
