package manager

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// How long answers of the API server are kept, and how long one may take, with its repetitions.
const (
	tokenKept     = time.Minute
	allowedKept   = 5 * time.Minute
	deniedKept    = 30 * time.Second
	reviewTimeout = 10 * time.Second
	// answersKept bounds how many are kept of each kind.
	answersKept = 1024
)

// reviewer asks the API server who somebody is and what they may do, and keeps the answers for a while.
// It is safe for concurrent use.
type reviewer struct {
	tokens  authenticationclient.TokenReviewInterface
	access  authorizationclient.SubjectAccessReviewInterface
	asking  singleflight.Group    // by the digest of a token
	users   *cache.LRUExpireCache // by the digest of a token: *authenticationv1.UserInfo, nil for nobody
	answers *cache.LRUExpireCache // by the digest of a question: bool
}

func newReviewer(config *rest.Config, client *http.Client) (*reviewer, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	access, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &reviewer{
		tokens: tokens.TokenReviews(), access: access.SubjectAccessReviews(),
		users: cache.NewLRUExpireCache(answersKept), answers: cache.NewLRUExpireCache(answersKept),
	}, nil
}

// authenticateToken returns who has a token, nil if that is nobody the API server knows. Of several who come with
// the same token at once one asks; it goes on within reviewTimeout when its own context ends, for the others.
func (r *reviewer) authenticateToken(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	key := sha256.Sum256([]byte(token)) // tokens are not kept
	user, err, _ := r.asking.Do(string(key[:]), func() (any, error) {
		if known, ok := r.users.Get(key); ok {
			return known, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		return r.askWho(ctx, key, token)
	})
	if err != nil {
		return nil, err
	}
	return user.(*authenticationv1.UserInfo), nil
}

// askWho asks the API server, and keeps what it says under key. An answer with an error is not kept, as in
// k8s.io/apiserver: it may be that the token is unknown, or that an authenticator cannot be reached
// now. So each request with an unknown token is one review, which costs the API server what it costs to
// send that token to the API server itself.
func (r *reviewer) askWho(ctx context.Context, key [sha256.Size]byte, token string) (*authenticationv1.UserInfo, error) {
	var answer *authenticationv1.TokenReview
	err := repeatReview(ctx, func(ctx context.Context) (err error) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		answer, err = r.tokens.Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	var user *authenticationv1.UserInfo
	if answer.Status.Authenticated {
		user = &answer.Status.User
	}
	if answer.Status.Error == "" {
		r.users.Add(key, user, tokenKept)
	}
	return user, nil
}

// authorizeUser reports whether somebody may do a verb on a path.
func (r *reviewer) authorizeUser(ctx context.Context, user *authenticationv1.UserInfo, verb, path string) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return false, err
	}
	key := sha256.Sum256(text)
	if known, ok := r.answers.Get(key); ok {
		return known.(bool), nil
	}
	var answer *authorizationv1.SubjectAccessReview
	err = repeatReview(ctx, func(ctx context.Context) (err error) {
		answer, err = r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, err
	}
	allowed, kept := answer.Status.Allowed && !answer.Status.Denied, deniedKept
	if allowed {
		kept = allowedKept
	}
	r.answers.Add(key, allowed, kept)
	return allowed, nil
}

// repeatReview calls ask up to five times within ctx, about four seconds in all if the answers come at once, while the
// API server is not to be reached or says that it cannot answer now: it may be restarting. It returns the last error of ask.
func repeatReview(ctx context.Context, ask func(context.Context) error) error {
	var last error
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	err := wait.ExponentialBackoffWithContext(ctx, pauses, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		if last != nil && mayAnswerLater(last) {
			return false, nil
		}
		return last == nil, last
	})
	if err == nil {
		return nil
	}
	return cmp.Or(last, err)
}

// mayAnswerLater reports whether an error of a review may be over soon.
func mayAnswerLater(err error) bool {
	_, hasDelay := apierrors.SuggestsClientDelay(err)
	return hasDelay || isConnectionError(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}
