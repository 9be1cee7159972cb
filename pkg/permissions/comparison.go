package permissions

import (
	"cmp"
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// Cluster is an API server, as seen by whoever asks. All fields are required.
type Cluster struct {
	// Config is that of the clients; it is copied to impersonate others.
	Config  *rest.Config
	Typed   Typed
	Objects dynamic.Interface
	Mapper  meta.RESTMapper
}

// Typed is what is used of a kubernetes.Interface, which is one.
type Typed interface {
	AuthenticationV1() authenticationv1client.AuthenticationV1Interface
	AuthorizationV1() authorizationv1client.AuthorizationV1Interface
	CoreV1() corev1client.CoreV1Interface
	RbacV1() rbacv1client.RbacV1Interface
}

// Comparison is what policies need, and what of it is allowed now.
type Comparison struct {
	cluster  Cluster
	grants   []rbac.Grant
	allowed  map[rbac.Check]bool
	reporter Reporter
}

// CompareNeeds asks the cluster what of the policies' needs is allowed. It sets o.Kinds.Mapper.
// Policies that no namespace limits are looked at where they have owners.
func CompareNeeds(ctx context.Context, c Cluster, o Options) (*Comparison, error) {
	o.Kinds.Mapper = c.Mapper
	if err := o.Kinds.FindAll(o.Programs); err != nil {
		return nil, err
	}
	needs, err := o.collectNeeds(ctx, search{cluster: c, options: o}.locateOwners)
	if err != nil {
		return nil, err
	}
	compared := &Comparison{cluster: c, grants: needs.Grants, reporter: o.Reporter}
	var checks []rbac.Check
	for _, g := range needs.Grants {
		checks = append(checks, g.GrantChecks()...)
	}
	r := newReviewer(c)
	stop := o.Reporter.ShowProgress(func() string {
		noun := "access reviews"
		if len(checks) == 1 {
			noun = "access review"
		}
		return fmt.Sprintf("%d of %d %s are done", r.done.Load(), len(checks), noun)
	})
	defer stop()
	compared.allowed, err = r.reviewAll(ctx, checks)
	if err != nil {
		return nil, err
	}
	return compared, nil
}

// CallerName returns the user name that the API server knows the caller by, "" if it does
// not tell.
func (c *Comparison) CallerName(ctx context.Context) string {
	review, err := c.cluster.Typed.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// Entry is about one resource in one place, as `ambit access -o json` prints it. The shape
// is stable.
type Entry struct {
	// Policy is the name of the policy.
	Policy string `json:"policy"`
	// User is who needs the verbs.
	User string `json:"user"`
	// Namespace is empty for a right in all namespaces, or on what has none.
	Namespace string `json:"namespace"`
	// Group, Resource and Subresource are those of the resource.
	Group       string `json:"group"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	// Name is that of the only object that is needed; empty: all.
	Name string `json:"name"`
	// NeededBy are the parts of the policy: `owner`, or ids.
	NeededBy []string `json:"neededBy"`
	// Verbs are those needed, Missing those of them that are not granted.
	Verbs   []string `json:"verbs"`
	Missing []string `json:"missing"`
}

// ListEntries returns one entry for each rule of the grants, in their order; empty, not nil,
// if there are none. caller is the name of the zero Subject.
func (c *Comparison) ListEntries(caller string) []Entry {
	entries := []Entry{}
	for _, g := range c.grants {
		lacking := g.LackingVerbs(c.isAllowed)
		for _, rule := range g.Rules {
			entries = append(entries, Entry{
				Policy: g.Policy, User: cmp.Or(g.Subject.UserName(), caller), Namespace: g.Namespace,
				Group: rule.Group, Resource: rule.Resource, Subresource: rule.Subresource, Name: rule.Name,
				NeededBy: rule.Parts, Verbs: rule.Verbs, Missing: lacking.VerbsOn(rule),
			})
		}
	}
	return entries
}

// isAllowed answers a check of the grants.
func (c *Comparison) isAllowed(check rbac.Check) bool { return c.allowed[check] }

// willBeAllowed reports whether the answer is yes once the cluster-wide grants are applied.
func (c *Comparison) willBeAllowed(check rbac.Check) bool {
	everywhere := check
	everywhere.Namespace = rbac.Everywhere
	_, granted := c.allowed[everywhere]
	return c.isAllowed(check) || granted && check != everywhere
}
