package manager

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unnamed is the identity in messages where the API server does not say it.
const unnamed = "this identity"

// whoAmI asks the API server who it takes us for; it may refuse to say. An error
// means that it cannot be reached or does not accept the identity.
func whoAmI(ctx context.Context, own *identity) (string, error) {
	review, err := own.typed.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return unnamed, nil
	case err != nil:
		return "", fmt.Errorf("asking the API server at %s who we are: %w", own.config.Host, err)
	}
	return review.Status.UserInfo.Username, nil
}
