// Package typedclient makes the few of client-go's typed clients that Ambit uses. A
// kubernetes.Clientset has one for each of fifty groups and versions: code in the binary, and memory
// for each identity that is impersonated.
package typedclient

import (
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1 "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Clients are clients of one identity. They are immutable and safe for concurrent use.
type Clients struct {
	authentication authenticationv1.AuthenticationV1Interface
	authorization  authorizationv1.AuthorizationV1Interface
	core           corev1.CoreV1Interface
	rbac           rbacv1.RbacV1Interface
}

// NewForConfigAndClient returns clients that share an HTTP client and, as those of a Clientset do, a
// rate limiter if the config has one or limits QPS. The error is that of a config that is wrong; no request is sent.
func NewForConfigAndClient(config *rest.Config, client *http.Client) (*Clients, error) {
	config, err := limitTogether(config)
	if err != nil {
		return nil, err
	}
	c := &Clients{}
	if c.authentication, err = authenticationv1.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("preparing the client for identities: %w", err)
	}
	if c.authorization, err = authorizationv1.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("preparing the client for access reviews: %w", err)
	}
	if c.core, err = corev1.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("preparing the client for the core group: %w", err)
	}
	if c.rbac, err = rbacv1.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("preparing the client for RBAC: %w", err)
	}
	return c, nil
}

// limitTogether returns a config with the one rate limiter that a limit of QPS asks for: each client
// would make one of its own.
func limitTogether(config *rest.Config) (*rest.Config, error) {
	if config.RateLimiter != nil || config.QPS <= 0 {
		return config, nil
	}
	if config.Burst <= 0 {
		return nil, fmt.Errorf("a limit of %v requests a second takes a burst of at least 1, not %d", config.QPS, config.Burst)
	}
	config = rest.CopyConfig(config)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	return config, nil
}

// AuthenticationV1 is that of a kubernetes.Interface, as the others are.
func (c *Clients) AuthenticationV1() authenticationv1.AuthenticationV1Interface {
	return c.authentication
}

// AuthorizationV1 returns the client for access reviews.
func (c *Clients) AuthorizationV1() authorizationv1.AuthorizationV1Interface { return c.authorization }

// CoreV1 returns the client for the core group.
func (c *Clients) CoreV1() corev1.CoreV1Interface { return c.core }

// RbacV1 returns the client for RBAC, by the name that client-go gives it.
func (c *Clients) RbacV1() rbacv1.RbacV1Interface { return c.rbac }
