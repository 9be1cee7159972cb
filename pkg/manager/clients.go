package manager

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/internal/objectclient"
	"github.com/ambit-dev/ambit/pkg/internal/typedclient"
)

// clients are the clients of each identity. They are made when first needed, share their
// connections, and are dropped when nobody has needed them for a while. Safe for concurrent
// use.
type clients struct {
	config *rest.Config

	mu         sync.Mutex // guards what is below, and used of identities
	byIdentity map[string]*identity
}

// identity talks to the API server as somebody. It has no connections and no goroutines of
// its own, so that there is nothing to close when it is dropped.
type identity struct {
	config   *rest.Config
	http     *http.Client
	typed    *typedclient.Clients
	objects  dynamic.Interface
	metadata metadata.Interface
	used     time.Time // when it was last asked for, or seen to be in use
}

func newClients(config *rest.Config) *clients {
	return &clients{config: config, byIdentity: map[string]*identity{}}
}

// identityFor returns the clients of an identity: empty for Ambit's own account, else the
// user name of a ServiceAccount to impersonate. The API server then adds the
// groups that every ServiceAccount has.
func (c *clients) identityFor(user string) (*identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, err := c.knownLocked("", func() (*identity, error) { return connectAs(c.config) })
	if err != nil || user == "" {
		return own, err
	}
	return c.knownLocked(user, func() (*identity, error) { return own.impersonateUser(user) })
}

// knownLocked returns the clients of an identity, and makes them if there are none.
func (c *clients) knownLocked(user string, make func() (*identity, error)) (*identity, error) {
	known, ok := c.byIdentity[user]
	if !ok {
		made, err := make()
		if err != nil {
			return nil, err
		}
		known = made
		c.byIdentity[user] = made
	}
	known.used = time.Now()
	return known, nil
}

// dropUnused forgets the clients of identities that were neither asked for nor seen in use since
// a time; inUse are those in use now. Ambit's own stay. Who holds some all the same may go on
// with them: nothing of theirs is closed.
func (c *clients) dropUnused(inUse map[string]bool, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(c.byIdentity, func(user string, i *identity) bool {
		if user == "" || inUse[user] {
			i.used = now
		}
		return i.used.Before(since)
	})
}

// connectAs makes the clients of Ambit's own account.
func connectAs(config *rest.Config) (*identity, error) {
	config = rest.CopyConfig(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	return newIdentity(config, client)
}

// impersonateUser makes the clients of a user, over the same connections. A transport of its
// own would have others where the configuration has a proxy or a dialer.
func (i *identity) impersonateUser(user string) (*identity, error) {
	if other := i.config.Impersonate.UserName; other != "" {
		return nil, fmt.Errorf("cannot act as %q while impersonating %q: use the credentials of that user", user, other)
	}
	config := rest.CopyConfig(i.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return newIdentity(config, i.clientOver(func(t http.RoundTripper) http.RoundTripper {
		return transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user}, t)
	}))
}

// clientOver returns the identity's HTTP client with something before its transport.
func (i *identity) clientOver(wrap func(http.RoundTripper) http.RoundTripper) *http.Client {
	client := *i.http
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = wrap(client.Transport)
	return &client
}

func newIdentity(config *rest.Config, client *http.Client) (*identity, error) {
	i := &identity{config: config, http: client}
	var err error
	if i.objects, err = objectclient.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("preparing the client for objects: %w", err)
	}
	if i.metadata, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("preparing the client for metadata: %w", err)
	}
	if i.typed, err = typedclient.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	return i, nil
}

// streamClients are what package watch needs of an identity.
func (c *clients) streamClients(user string) (dynamic.Interface, metadata.Interface, error) {
	i, err := c.identityFor(user)
	if err != nil {
		return nil, nil, err
	}
	return i.objects, i.metadata, nil
}

// writerFor is what package engine needs of an identity.
func (c *clients) writerFor(user string) (dynamic.Interface, error) {
	i, err := c.identityFor(user)
	if err != nil {
		return nil, err
	}
	return i.objects, nil
}

// reviewsFor are what package access needs of an identity.
func (c *clients) reviewsFor(user string) (access.Reviews, error) {
	i, err := c.identityFor(user)
	if err != nil {
		return nil, err
	}
	return access.FromClient(i.typed.AuthorizationV1()), nil
}

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
