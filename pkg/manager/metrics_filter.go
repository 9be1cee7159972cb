package manager

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// How long answers of the API server are kept, and how long one may take: as controller-runtime's
// filter does, which brings the authentication of a whole API server with it.
const (
	tokenKept     = time.Minute
	allowedKept   = 5 * time.Minute
	deniedKept    = 30 * time.Second
	reviewTimeout = 10 * time.Second
	// answersKept bounds how many are kept of each kind.
	answersKept = 1024
)

// metricsFilter lets those read metrics who may get the path: it asks the API server who has the
// bearer token of a request, and whether they may. It is safe for concurrent use.
type metricsFilter struct {
	tokens  authenticationclient.TokenReviewInterface
	reviews authorizationclient.SubjectAccessReviewInterface
	users   *cache.LRUExpireCache // by the digest of a token: authenticationv1.TokenReviewStatus
	answers *cache.LRUExpireCache // by the digest of a question: bool
}

// newMetricsFilter is a metricsserver.Options.FilterProvider.
func newMetricsFilter(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	reviews, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	f := &metricsFilter{
		tokens: tokens.TokenReviews(), reviews: reviews.SubjectAccessReviews(),
		users: cache.NewLRUExpireCache(answersKept), answers: cache.NewLRUExpireCache(answersKept),
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(log, w, r, next) }), nil
	}, nil
}

// serve answers a request, by next if who asks may.
func (f *metricsFilter) serve(log logr.Logger, w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	user, err := f.authenticate(ctx, r.Header.Get("Authorization"))
	if err != nil {
		log.Error(err, "asking the API server who reads the metrics")
		http.Error(w, "who you are cannot be found out now", http.StatusInternalServerError)
		return
	}
	if user == nil {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	allowed, err := f.authorize(ctx, user, strings.ToLower(r.Method), r.URL.Path)
	switch {
	case err != nil:
		log.Error(err, "asking the API server who may read the metrics", "user", user.Username)
		http.Error(w, "what you may do cannot be found out now", http.StatusInternalServerError)
	case !allowed:
		http.Error(w, "Forbidden", http.StatusForbidden)
	default:
		next.ServeHTTP(w, r)
	}
}

// authenticate returns who sent a header, nil if that is nobody the API server knows.
func (f *metricsFilter) authenticate(ctx context.Context, header string) (*authenticationv1.UserInfo, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") || token == "" {
		return nil, nil
	}
	key := sha256.Sum256([]byte(token)) // tokens are not kept
	if known, ok := f.users.Get(key); ok {
		return known.(*authenticationv1.UserInfo), nil
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	answer, err := f.tokens.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	var user *authenticationv1.UserInfo
	if answer.Status.Authenticated {
		user = &answer.Status.User
	}
	if answer.Status.Error == "" { // else it may be known the next time
		f.users.Add(key, user, tokenKept)
	}
	return user, nil
}

// authorize reports whether somebody may do a verb on a path.
func (f *metricsFilter) authorize(ctx context.Context, user *authenticationv1.UserInfo, verb, path string) (bool, error) {
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
	if known, ok := f.answers.Get(key); ok {
		return known.(bool), nil
	}
	answer, err := f.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	kept := deniedKept
	if answer.Status.Allowed {
		kept = allowedKept
	}
	f.answers.Add(key, answer.Status.Allowed, kept)
	return answer.Status.Allowed, nil
}
