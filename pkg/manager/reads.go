package manager

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// Wait before a stream that was refused is tried again unasked. A grant is noticed
// by reviews and has the stream tried at once; this is for what they do not show.
const (
	retryMin = 4 * time.Second
	retryMax = 30 * time.Second
)

// Reads are the informers and the access reviews of one process. Made once and given to Run, and to a cache of package
// scopedcache, they are shared: a kind is listed and watched once in a place, for whoever needs it there with the same
// selectors, and what is allowed in a namespace is asked once. Each of them keeps what it needs of an object, in its own
// form. Reads run while anybody does who has them, and what one needs is released when that one ends.
type Reads struct {
	clients   *clients
	informers *informer.Set
	reviews   *access.Reviewer
}

// NewReads makes Reads of a configuration, which is that of everybody who has them. It starts nothing. The zero Logger
// writes nothing.
func NewReads(config *rest.Config, logger logr.Logger) (*Reads, error) {
	r := &Reads{clients: newClients(rest.CopyConfig(config))}
	if _, err := r.clients.identityFor(""); err != nil {
		return nil, err
	}
	r.informers = informer.NewSet(informer.Options{
		Clients: r.clients.streamClients, Retry: informer.Exponential(retryMin, retryMax, nil), Logger: logger.WithName("watch"),
	})
	r.reviews = access.New(access.Options{Reviews: r.clients.reviewsFor, Logger: logger.WithName("access")})
	return r, nil
}

// ShareReads returns what one more user has of them, who starts both. It implements scopedcache.Reads. A configuration
// for another server, or with other credentials, is an error.
func (r *Reads) ShareReads(config *rest.Config, o informer.UserOptions) (*informer.Set, *access.Reviewer, error) {
	if own := r.clients.config; own.Host != config.Host {
		return nil, nil, fmt.Errorf("sharing informers: they are of the API server %q, not of %q", own.Host, config.Host)
	} else if !reflect.DeepEqual(credentialsOf(own), credentialsOf(config)) {
		return nil, nil, errors.New("sharing informers: they have other credentials, whose permissions may be others")
	}
	return r.informers.ForUser(o), r.reviews.ForUser(), nil
}

// credentialsOf returns what the API server knows a client by.
func credentialsOf(c *rest.Config) rest.Config {
	return rest.Config{
		APIPath: c.APIPath, Username: c.Username, Password: c.Password, BearerToken: c.BearerToken, BearerTokenFile: c.BearerTokenFile,
		Impersonate: c.Impersonate, AuthProvider: c.AuthProvider, ExecProvider: c.ExecProvider,
		TLSClientConfig: rest.TLSClientConfig{
			CertFile: c.CertFile, CertData: c.CertData, KeyFile: c.KeyFile, KeyData: c.KeyData,
		},
	}
}
