package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/poll"
)

// decidedTime is how long a change of RBAC objects may take to count.
const decidedTime = time.Minute

// Decided waits until the API server allows a user all of the rules in a namespace, or
// none of them: it decides by a cache, and knows of a change some milliseconds late. The
// empty namespace stands for all of them, and for what is cluster-scoped. It fails the test
// after a minute.
func (c *Cluster) Decided(ctx context.Context, t testing.TB, user, namespace string, allowed bool, rules ...rbacv1.PolicyRule) {
	t.Helper()
	var last error
	err := poll.Until(ctx, decidedTime, func(ctx context.Context) (bool, error) {
		if err := c.decides(ctx, user, allowed, attributes(namespace, rules)); ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting until the API server has decided on the rights of %q in namespace %q: %v: %v", user, namespace, err, last)
	}
}

// decides returns an error if a user is not, or is, allowed one of some accesses.
func (c *Cluster) decides(ctx context.Context, user string, allowed bool, accesses []authorizationv1.ResourceAttributes) error {
	for _, a := range accesses {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &a}}
		answer, err := c.typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if answer.Status.Allowed != allowed {
			return fmt.Errorf("%s %s: allowed is %t", a.Verb, a.Resource, answer.Status.Allowed)
		}
	}
	return nil
}

// attributes are the accesses of rules, of which each has one API group.
func attributes(namespace string, rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	var list []authorizationv1.ResourceAttributes
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, path := range rule.Resources {
			resource, sub, _ := strings.Cut(path, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					list = append(list, authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: rule.APIGroups[0], Resource: resource, Subresource: sub, Name: name,
					})
				}
			}
		}
	}
	return list
}
