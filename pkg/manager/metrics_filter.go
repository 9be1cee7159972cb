package manager

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsFilter lets those read metrics who may get the path: it asks the API server who has the
// bearer token of a request, and whether they may. It is safe for concurrent use.
//
// It is in place of controller-runtime's filter, which brings the authentication of a whole API server
// with it. It asks the same questions, as often, and keeps answers as long. What differs:
//   - who asks with a token that the API server does not know gets 401, not 500;
//   - an answer that both allows and denies is a refusal, not an error;
//   - of answers the last 1,024 are kept of each kind, not as many as there are;
//   - requests are repeated if the connection was refused, too;
//   - a token with a space in it is refused, not cut, and there are more spaces allowed before it;
//   - a token in the protocol of a WebSocket is not read.
type metricsFilter struct{ reviews *reviewer }

// newMetricsFilter is a metricsserver.Options.FilterProvider.
func newMetricsFilter(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	reviews, err := newReviewer(config, client)
	if err != nil {
		return nil, err
	}
	f := metricsFilter{reviews: reviews}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serveRequest(log, w, r, next) }), nil
	}, nil
}

// serveRequest answers a request, by next if who asks may. next does not get the token.
func (f metricsFilter) serveRequest(log logr.Logger, w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	token := bearerToken(r.Header.Get("Authorization"))
	if token == "" {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	user, err := f.reviews.authenticateToken(ctx, token)
	if err != nil {
		log.Error(err, "asking the API server who reads the metrics")
		http.Error(w, "who you are cannot be found out now", http.StatusInternalServerError)
		return
	}
	if user == nil {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	allowed, err := f.reviews.authorizeUser(ctx, user, strings.ToLower(r.Method), r.URL.Path)
	switch {
	case err != nil:
		log.Error(err, "asking the API server who may read the metrics", "user", user.Username)
		http.Error(w, "what you may do cannot be found out now", http.StatusInternalServerError)
	case !allowed:
		http.Error(w, "Forbidden", http.StatusForbidden)
	default:
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	}
}

// bearerToken returns the token of an Authorization header, "" if it is of another form.
func bearerToken(header string) string {
	parts := strings.Fields(header)
	if len(parts) != 2 || !strings.EqualFold(parts[0], "bearer") {
		return ""
	}
	return parts[1]
}
