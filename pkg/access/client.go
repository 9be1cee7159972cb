package access

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Reviews asks the API server what the identity of its client may do. Safe for
// concurrent use. One call is one request; errors wrap the API server's.
type Reviews interface {
	// Rules asks for all rights in a namespace, which is never "".
	Rules(ctx context.Context, namespace string) (Rules, error)
	// Access asks for one right; namespace "" is all namespaces, or what is
	// cluster-scoped.
	Access(ctx context.Context, namespace string, a Access) (Verdict, error)
}

// Verdict is the answer about one access.
type Verdict struct {
	Allowed bool
	// Reason is what the API server says about it, for people; often empty.
	Reason string
}

// FromClient returns the reviews of a client's identity. The client must not be
// rate limited: the Reviewer has its own ceiling. A request is never repeated
// underneath.
func FromClient(client authorizationv1client.AuthorizationV1Interface) Reviews {
	return reviews{client}
}

type reviews struct {
	client authorizationv1client.AuthorizationV1Interface
}

// Rules creates a SelfSubjectRulesReview. An answer with an error in it is
// incomplete: for RBAC that is a binding to a role that is gone.
func (r reviews) Rules(ctx context.Context, namespace string) (Rules, error) {
	review := &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}
	if err := r.create(ctx, "selfsubjectrulesreviews", review); err != nil {
		return Rules{}, fmt.Errorf("reviewing rules in namespace %q: %w", namespace, err)
	}
	status := review.Status
	return Rules{Items: status.ResourceRules, Incomplete: status.Incomplete || status.EvaluationError != ""}, nil
}

// Access creates a SelfSubjectAccessReview.
func (r reviews) Access(ctx context.Context, namespace string, a Access) (Verdict, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: a.Verb, Group: a.Group, Version: "*",
			Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
		}},
	}
	if err := r.create(ctx, "selfsubjectaccessreviews", review); err != nil {
		return Verdict{}, fmt.Errorf("reviewing access to %s %s in namespace %q: %w", a.Verb, a.Resource, namespace, err)
	}
	return Verdict{Allowed: review.Status.Allowed, Reason: review.Status.Reason}, nil
}

// create posts a review and reads the answer into it. client-go would repeat a
// request that is answered with Retry-After, and nobody would count that.
func (r reviews) create(ctx context.Context, resource string, review runtime.Object) error {
	return r.client.RESTClient().Post().
		Resource(resource).
		VersionedParams(&metav1.CreateOptions{}, scheme.ParameterCodec).
		Body(review).
		MaxRetries(0).
		Do(ctx).
		Into(review)
}
