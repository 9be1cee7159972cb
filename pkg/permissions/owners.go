package permissions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// search looks for the owners of policies that no namespace limits.
type search struct {
	cluster Cluster
	options Options
}

// locateOwners fills in the namespaces with owners, and whether Ambit lacks what finds them.
func (s search) locateOwners(ctx context.Context, request *rbac.Request) (err error) {
	program := request.Program
	kind := request.Kind(program.Owner.GVK)
	if !kind.Namespaced {
		return nil // they are in no namespace, and found cluster-wide or not at all
	}
	stop := s.options.Reporter.ShowProgress(func() string { return fmt.Sprintf("looking for owners of policy %q", program.Name) })
	request.Namespaces, err = s.ownerNamespaces(ctx, program, kind)
	stop() // before anything else is reported
	if err != nil {
		return err
	}
	if len(request.Namespaces) == 0 {
		s.options.Reporter.PrintWarning("policy %q has no owners: --namespaces says where to look", program.Name)
	}
	request.FindOwners, err = s.cannotFind(ctx, *request)
	return err
}

// ownerNamespaces returns the namespaces in which the policy has owners to serve,
// sorted. A kind that is not served has none.
func (s search) ownerNamespaces(ctx context.Context, program *policy.Program, kind rbac.Kind) ([]string, error) {
	owners := s.cluster.Objects.Resource(kind.Resource.WithVersion(program.Owner.GVK.Version))
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return owners.List(ctx, o) })
	served := *program
	served.Suspend = false // what it needs does not depend on that
	found := map[string]bool{}
	options := metav1.ListOptions{LabelSelector: program.Owner.LabelSelector, FieldSelector: program.Owner.FieldSelector}
	err := pages.EachListItem(ctx, options, func(object runtime.Object) error {
		owner, ok := object.(*unstructured.Unstructured)
		if ok && s.options.Serves(ctx, &served, owner) {
			found[owner.GetNamespace()] = true
		}
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("looking for owners of policy %q in all namespaces (--namespaces names some): %w", program.Name, err)
	}
	delete(found, rbac.Everywhere)
	selected, err := s.selectedNamespaces(ctx, program)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(namespace string, _ bool) bool { return selected != nil && !selected[namespace] })
	return slices.Sorted(maps.Keys(found)), nil
}

// selectedNamespaces returns those of a scope that selects them by labels; nil for one
// that does not.
func (s search) selectedNamespaces(ctx context.Context, program *policy.Program) (map[string]bool, error) {
	if program.NamespaceSelector == nil {
		return nil, nil
	}
	list, err := s.cluster.Typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: program.NamespaceSelector.String()})
	if err != nil {
		return nil, fmt.Errorf("looking for the namespaces of policy %q (--namespaces names some): %w", program.Name, err)
	}
	selected := map[string]bool{}
	for _, namespace := range list.Items {
		selected[namespace.Name] = true
	}
	for _, name := range program.Namespaces {
		selected[name] = true
	}
	return selected, nil
}

// cannotFind asks whether the owners of a policy that no namespace limits can be
// found, and warns if not. Where the request grants that already nothing is asked.
func (s search) cannotFind(ctx context.Context, request rbac.Request) (bool, error) {
	selects := request.Program.NamespaceSelector != nil // it is in the namespaces only, and these have to be seen
	if request.OwnersEverywhere || selects {
		return false, nil
	}
	owners, namespaces := rbac.FindingGrants(request)
	allowed, err := newReviewer(s.cluster).reviewAll(ctx, append(owners.GrantChecks(), namespaces.GrantChecks()...))
	if err != nil {
		return false, err
	}
	isAllowed := func(c rbac.Check) bool { return allowed[c] }
	owners, namespaces = owners.LackingVerbs(isAllowed), namespaces.LackingVerbs(isAllowed)
	if len(owners.Rules) == 0 || len(namespaces.Rules) == 0 {
		return false, nil
	}
	s.options.Reporter.PrintWarning("owners of policy %q cannot be found: %s cannot %s in all namespaces, and cannot %s to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces",
		request.Program.Name, owners.Subject, shownRule(owners.Rules[0]), shownRule(namespaces.Rules[0]))
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
