package manager

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// reviewServer answers reviews in place of an API server: token-NAME is that of user NAME, and reader may get /metrics.
type reviewServer struct {
	*testing.T
	down    bool
	doubt   bool     // an authenticator of the API server is not to be reached
	reviews []string // as they were asked
}

// RoundTrip implements http.RoundTripper.
func (s *reviewServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.down {
		return nil, errors.New("connection refused")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Error(err)
	}
	var answer any
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		answer = s.whoIs(body)
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		answer = s.mayDo(body)
	default:
		s.Errorf("it asks for %s", r.URL.Path)
	}
	data, err := json.Marshal(answer)
	if err != nil {
		s.Error(err)
	}
	response := answerWith(http.StatusCreated, "", string(data))
	response.Header.Set("Content-Type", "application/json")
	return response, nil
}

func (s *reviewServer) whoIs(body []byte) *authenticationv1.TokenReview {
	review := &authenticationv1.TokenReview{}
	if err := json.Unmarshal(body, review); err != nil {
		s.Error(err)
	}
	s.reviews = append(s.reviews, "who has "+review.Spec.Token)
	name, known := strings.CutPrefix(review.Spec.Token, "token-")
	switch {
	case s.doubt:
		review.Status.Error = "the authenticator cannot be reached"
	case known:
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
			Username: name, UID: "u", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"scope": {"x"}},
		}}
	}
	review.TypeMeta = metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
	return review
}

func (s *reviewServer) mayDo(body []byte) *authorizationv1.SubjectAccessReview {
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.Unmarshal(body, review); err != nil {
		s.Error(err)
	}
	spec := review.Spec
	s.reviews = append(s.reviews, strings.Join([]string{"may", spec.User, spec.NonResourceAttributes.Verb, spec.NonResourceAttributes.Path}, " "))
	want := authorizationv1.SubjectAccessReviewSpec{
		User: spec.User, UID: "u", Groups: []string{"g"}, Extra: map[string]authorizationv1.ExtraValue{"scope": {"x"}}, NonResourceAttributes: spec.NonResourceAttributes,
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		s.Errorf("the question (-want +got):\n%s", diff)
	}
	review.Status.Allowed = spec.User == "reader" && spec.NonResourceAttributes.Verb == "get" && spec.NonResourceAttributes.Path == "/metrics"
	review.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}
	return review
}

// TestMetricsFilter: who may read the metrics, and how often the API server is asked.
func TestMetricsFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &reviewServer{T: t}
		filter, err := newMetricsFilter(&rest.Config{Host: "http://api", ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, &http.Client{Transport: server})
		if err != nil {
			t.Fatal(err)
		}
		handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
		if err != nil {
			t.Fatal(err)
		}
		const who, may = "who has token-reader", "may reader get /metrics"
		for _, step := range []struct {
			reason        string
			after         time.Duration
			header        string
			method, path  string
			down, inDoubt bool
			code          int
			asked         []string
		}{
			{reason: "nobody", code: 401},
			{reason: "another scheme", header: "Basic token-reader", code: 401},
			{reason: "no token", header: "Bearer  ", code: 401},
			{reason: "the API server is not to be reached", header: "Bearer token-reader", down: true, code: 500},
			{reason: "it cannot say now", header: "Bearer token-reader", inDoubt: true, code: 401, asked: []string{who}},
			{reason: "who may", header: "bearer  token-reader", code: 200, asked: []string{who, may}},
			{reason: "the answers are kept", after: 59 * time.Second, header: "Bearer token-reader", code: 200},
			{reason: "but not for ever: the token may have been withdrawn", after: 2 * time.Second, header: "Bearer token-reader", code: 200, asked: []string{who}},
			{reason: "also not that somebody may", after: 4 * time.Minute, header: "Bearer token-reader", code: 200, asked: []string{who, may}},
			{reason: "another path is another question", header: "Bearer token-reader", path: "/policies", code: 403, asked: []string{"may reader get /policies"}},
			{reason: "so is another verb", header: "Bearer token-reader", method: http.MethodPost, code: 403, asked: []string{"may reader post /metrics"}},
			{reason: "a refusal is kept", after: 29 * time.Second, header: "Bearer token-reader", path: "/policies", code: 403},
			{reason: "for a shorter time: the right may be granted", after: 2 * time.Second, header: "Bearer token-reader", path: "/policies", code: 403, asked: []string{"may reader get /policies"}},
			{reason: "who may not", header: "Bearer token-other", code: 403, asked: []string{"who has token-other", "may other get /metrics"}},
			{reason: "whom nobody knows", header: "Bearer made-up", code: 401, asked: []string{"who has made-up"}},
			{reason: "that is kept as well", header: "Bearer made-up", code: 401},
			{reason: "what is known needs no API server", header: "Bearer token-other", down: true, code: 403},
		} {
			time.Sleep(step.after)
			server.down, server.doubt, server.reviews = step.down, step.inDoubt, nil
			if step.method == "" {
				step.method = http.MethodGet
			}
			if step.path == "" {
				step.path = "/metrics"
			}
			request := httptest.NewRequestWithContext(t.Context(), step.method, step.path, nil)
			if step.header != "" {
				request.Header.Set("Authorization", step.header)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if diff := cmp.Diff(step.asked, server.reviews); diff != "" || answer.Code != step.code {
				t.Errorf("%s: answered by %d, want %d; asked (-want +got):\n%s", step.reason, answer.Code, step.code, diff)
			}
		}
	})
}
