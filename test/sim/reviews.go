package sim

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/ambit-dev/ambit/pkg/access"
)

// Reviews returns what the server answers to questions about the client's own rights.
func (c *Client) Reviews() access.Reviews { return reviews{c} }

// reviews implements access.Reviews.
type reviews struct{ *Client }

// review sends a review. It needs a right as any create does.
func (r reviews) review(ctx context.Context, resource, about string, work func(user string)) error {
	gvr := schema.GroupVersionResource{Group: authorizationv1.GroupName, Version: "v1", Resource: resource}
	request := r.request("create", gvr, "", "")
	request.About = about
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.server.options.Faults.Before(ctx, request); err != nil {
		return err
	}
	r.server.mu.Lock()
	err := r.server.permitLocked(request)
	if err == nil {
		work(request.actor())
	}
	r.server.mu.Unlock()
	return r.server.options.Faults.After(ctx, request, err)
}

// Rules implements access.Reviews.
func (r reviews) Rules(ctx context.Context, namespace string) (answer access.Rules, err error) {
	err = r.review(ctx, "selfsubjectrulesreviews", namespace, func(user string) {
		rules, missing := r.server.authorizer.rulesOf(user, namespace)
		answer.Incomplete = utilerrors.NewAggregate(missing) != nil
		for _, g := range rules {
			if len(g.rule.Resources) == 0 {
				continue
			}
			answer.Items = append(answer.Items, authorizationv1.ResourceRule{
				Verbs: g.rule.Verbs, APIGroups: g.rule.APIGroups, Resources: g.rule.Resources, ResourceNames: g.rule.ResourceNames,
			})
		}
	})
	if err != nil {
		return access.Rules{}, fmt.Errorf("reviewing rules in namespace %q: %w", namespace, err)
	}
	return answer, nil
}

// Access implements access.Reviews.
func (r reviews) Access(ctx context.Context, namespace string, a access.Access) (answer access.Verdict, err error) {
	err = r.review(ctx, "selfsubjectaccessreviews", namespace, func(user string) {
		answer.Allowed, answer.Reason = r.server.authorizer.decide(user, authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
		})
	})
	if err != nil {
		return access.Verdict{}, fmt.Errorf("reviewing access to %s %s in namespace %q: %w", a.Verb, a.Resource, namespace, err)
	}
	return answer, nil
}
