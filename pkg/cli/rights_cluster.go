package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// requestTimeout bounds each request of a command that ends.
const requestTimeout = 30 * time.Second

// cluster is the API server, as the one who called the command. Errors of its
// methods are those of the cluster.
type cluster struct {
	config  *rest.Config
	typed   kubernetes.Interface
	objects dynamic.Interface
	mapper  meta.RESTMapper
}

// connect prepares clients. Requests are not limited on this side.
func connect(flags *genericclioptions.ConfigFlags) (*cluster, error) {
	c, err := dial(flags)
	if err != nil {
		return nil, clusterError(err)
	}
	return c, nil
}

func dial(flags *genericclioptions.ConfigFlags) (*cluster, error) {
	config, err := clusterConfig(flags)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Timeout = -1, requestTimeout
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	c := &cluster{config: config}
	if c.typed, err = kubernetes.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("preparing the client for reviews: %w", err)
	}
	if c.objects, err = dynamic.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("preparing the client for objects: %w", err)
	}
	if c.mapper, err = apiutil.NewDynamicRESTMapper(config, httpClient); err != nil {
		return nil, fmt.Errorf("preparing discovery: %w", err)
	}
	return c, nil
}

// ownerNamespaces returns the namespaces in which the policy has owners to serve,
// sorted. A kind that is not served has none.
func (c *cluster) ownerNamespaces(ctx context.Context, program *policy.Program, kind rbac.Kind) ([]string, error) {
	owners := c.objects.Resource(kind.Resource.WithVersion(program.Owner.GVK.Version))
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return owners.List(ctx, o) })
	served := *program
	served.Suspend = false // what it needs does not depend on that
	found := map[string]bool{}
	options := metav1.ListOptions{LabelSelector: program.Owner.LabelSelector, FieldSelector: program.Owner.FieldSelector}
	err := pages.EachListItem(ctx, options, func(object runtime.Object) error {
		owner, ok := object.(*unstructured.Unstructured)
		if ok && unserved(ctx, &served, owner) == "" {
			found[owner.GetNamespace()] = true
		}
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, clusterError(fmt.Errorf("looking for owners of policy %q in all namespaces (--namespaces names some): %w", program.Name, err))
	}
	delete(found, rbac.Everywhere)
	selected, err := c.selected(ctx, program)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(namespace string, _ bool) bool { return selected != nil && !selected[namespace] })
	return slices.Sorted(maps.Keys(found)), nil
}

// selected returns the namespaces of a scope that selects them by labels; nil for one
// that does not.
func (c *cluster) selected(ctx context.Context, program *policy.Program) (map[string]bool, error) {
	if program.NamespaceSelector == nil {
		return nil, nil
	}
	list, err := c.typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: program.NamespaceSelector.String()})
	if err != nil {
		return nil, clusterError(fmt.Errorf("looking for the namespaces of policy %q (--namespaces names some): %w", program.Name, err))
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

// hasAccount says whether a ServiceAccount is there; known is false if the API
// server does not tell.
func (c *cluster) hasAccount(ctx context.Context, account rbac.Subject) (exists, known bool, err error) {
	_, err = c.typed.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return false, false, nil
	case apierrors.IsNotFound(err):
		return false, true, nil
	case err != nil:
		return false, false, clusterError(fmt.Errorf("reading ServiceAccount %s/%s: %w", account.Namespace, account.Name, err))
	}
	return true, true, nil
}

// present returns what the Role and the binding of a grant hold already; known is
// false if the API server does not tell.
func (c *cluster) present(ctx context.Context, g rbac.Grant) (present rbac.Present, known bool, err error) {
	if present.Rules, err = c.roleRules(ctx, g); err == nil || apierrors.IsNotFound(err) {
		present.Subjects, err = c.boundSubjects(ctx, g)
	}
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return present, true, nil
	case apierrors.IsForbidden(err):
		return rbac.Present{}, false, nil
	}
	return rbac.Present{}, false, clusterError(fmt.Errorf("reading the Role and the binding %q: %w", g.Name, err))
}

func (c *cluster) roleRules(ctx context.Context, g rbac.Grant) ([]rbacv1.PolicyRule, error) {
	if g.Namespace == rbac.Everywhere {
		role, err := c.typed.RbacV1().ClusterRoles().Get(ctx, g.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	role, err := c.typed.RbacV1().Roles(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return role.Rules, nil
}

func (c *cluster) boundSubjects(ctx context.Context, g rbac.Grant) ([]rbacv1.Subject, error) {
	if g.Namespace == rbac.Everywhere {
		binding, err := c.typed.RbacV1().ClusterRoleBindings().Get(ctx, g.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return binding.Subjects, nil
	}
	binding, err := c.typed.RbacV1().RoleBindings(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return binding.Subjects, nil
}
