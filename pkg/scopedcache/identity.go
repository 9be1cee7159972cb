package scopedcache

import (
	"context"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// identity is whom the API server takes the cache for. It is asked for once, when a denial is to be worded that
// the API server has not worded. It is safe for concurrent use.
type identity struct {
	client authenticationv1client.AuthenticationV1Interface
	wanted chan struct{} // holds at most one

	mu    sync.Mutex // guards known
	known string
}

func newIdentity(config *rest.Config, client authenticationv1client.AuthenticationV1Interface) *identity {
	return &identity{client: client, wanted: make(chan struct{}, 1), known: config.Impersonate.UserName}
}

// userName returns the user name, or "" while it is not known.
func (i *identity) userName() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == "" {
		i.wantName()
	}
	return i.known
}

// wantName has the API server asked.
func (i *identity) wantName() {
	wakeup.SendWake(i.wanted)
}

// askName asks the API server when the name is wanted, once: it may refuse to say. It returns then, or when
// ctx ends.
func (i *identity) askName(ctx context.Context) {
	select {
	case <-i.wanted:
	case <-ctx.Done():
		return
	}
	review, err := i.client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return // messages say "this identity"
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known = review.Status.UserInfo.Username
}
