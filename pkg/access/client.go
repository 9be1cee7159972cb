package access

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
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

// Question is one access review.
type Question struct {
	// User is who is asked about; empty: the identity of the client, which every identity
	// may ask. Groups are those of User: the API server does not look them up.
	User   string
	Groups []string
	// Namespace "" is all namespaces, or what is cluster-scoped.
	Namespace string
	Access    Access
}

// API has a client of authorization.k8s.io/v1, which is not nil, and encodes and decodes that version: such as
// client-go's AuthorizationV1Interface, whose package would link the types of all groups.
type API interface {
	RESTClient() rest.Interface
}

// Client sends reviews to an API server. Safe for concurrent use.
type Client struct {
	API API
	// Retries is how often a request is repeated that the API server answers with
	// Retry-After. Zero: never; then one call is one request.
	Retries int
}

// FromClient returns the reviews of a client's identity. The client must not be
// rate limited: the Reviewer has its own ceiling. A request is never repeated
// underneath.
func FromClient(client API) Reviews {
	return clientReviews{Client{API: client}}
}

// Ask creates a SelfSubjectAccessReview, or a SubjectAccessReview about another user. The
// error is the API server's, as it is.
func (c Client) Ask(ctx context.Context, q Question) (Verdict, error) {
	attributes := &authorizationv1.ResourceAttributes{
		Namespace: q.Namespace, Verb: q.Access.Verb, Group: q.Access.Group, Version: "*",
		Resource: q.Access.Resource, Subresource: q.Access.Subresource, Name: q.Access.Name,
	}
	if q.User == "" {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
		err := c.createReview(ctx, "selfsubjectaccessreviews", review)
		return Verdict{Allowed: review.Status.Allowed, Reason: review.Status.Reason}, err
	}
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes, User: q.User, Groups: q.Groups},
	}
	err := c.createReview(ctx, "subjectaccessreviews", review)
	return Verdict{Allowed: review.Status.Allowed, Reason: review.Status.Reason}, err
}

// createReview posts a review and reads the answer into it. client-go would repeat a request
// more often, and nobody would count that.
func (c Client) createReview(ctx context.Context, resource string, review runtime.Object) error {
	return c.API.RESTClient().Post().
		Resource(resource).
		Body(review).
		MaxRetries(c.Retries).
		Do(ctx).
		Into(review)
}

type clientReviews struct{ client Client }

// Rules creates a SelfSubjectRulesReview. An answer with an error in it is
// incomplete: for RBAC that is a binding to a role that is gone.
func (r clientReviews) Rules(ctx context.Context, namespace string) (Rules, error) {
	review := &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}
	if err := r.client.createReview(ctx, "selfsubjectrulesreviews", review); err != nil {
		return Rules{}, fmt.Errorf("reviewing rules in namespace %q: %w", namespace, err)
	}
	status := review.Status
	return Rules{Items: status.ResourceRules, Incomplete: status.Incomplete || status.EvaluationError != ""}, nil
}

// Access creates a SelfSubjectAccessReview.
func (r clientReviews) Access(ctx context.Context, namespace string, a Access) (Verdict, error) {
	verdict, err := r.client.Ask(ctx, Question{Namespace: namespace, Access: a})
	if err != nil {
		return Verdict{}, fmt.Errorf("reviewing access to %s %s in namespace %q: %w", a.Verb, a.Resource, namespace, err)
	}
	return verdict, nil
}
