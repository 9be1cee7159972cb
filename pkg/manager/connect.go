package manager

import (
	"context"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// connection is how Ambit talks to the API server as one identity.
type connection struct {
	config   *rest.Config
	http     *http.Client
	objects  dynamic.Interface
	metadata metadata.Interface
	user     string
}

// unnamed is the identity in messages where the API server does not say it.
const unnamed = "this identity"

// connect makes the clients, on one HTTP client, and asks the API server who it
// takes us for; it may refuse to say. An error means that the API server cannot
// be reached or does not accept the identity.
func connect(ctx context.Context, config *rest.Config) (*connection, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	c := &connection{config: config, http: httpClient}
	if c.objects, err = dynamic.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("preparing the client for objects: %w", err)
	}
	if c.metadata, err = metadata.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("preparing the client for metadata: %w", err)
	}
	typed, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("preparing the client for reviews: %w", err)
	}
	review, err := typed.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		c.user = unnamed
	case err != nil:
		return nil, fmt.Errorf("asking the API server at %s who we are: %w", config.Host, err)
	default:
		c.user = review.Status.UserInfo.Username
	}
	return c, nil
}
