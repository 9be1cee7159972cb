package manager

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
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
// It is safe for concurrent use.
type reviewServer struct {
	*testing.T
	takes time.Duration // an answer

	mu      sync.Mutex // guards what is below
	fail    []any      // in place of the next answers: an error, or the code of an answer; the last one is repeated
	doubt   bool       // an authenticator of the API server is not to be reached
	refuse  bool       // it both allows and denies
	reviews []string   // as they were asked
}

// RoundTrip implements http.RoundTripper.
func (s *reviewServer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch failure := s.nextFailure().(type) {
	case error:
		return nil, failure
	case int:
		return answerWith(failure, "", "not now"), nil
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

// nextFailure returns what is in place of an answer, nil for none; s.mu is held.
func (s *reviewServer) nextFailure() any {
	if len(s.fail) == 0 {
		return nil
	}
	failure := s.fail[0]
	if len(s.fail) > 1 {
		s.fail = s.fail[1:]
	}
	return failure
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
	case !known:
		review.Status.Error = "[invalid bearer token, token lookup failed]" // as kube-apiserver says it
	default:
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
	review.Status.Denied = s.refuse
	review.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}
	return review
}

// filteredMetrics answers by http.StatusOK who may read metrics as server says, and fails if it sees a token.
func filteredMetrics(t *testing.T, server *reviewServer) http.Handler {
	t.Helper()
	config := &rest.Config{Host: "http://api", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	filter, err := newMetricsFilter(config, &http.Client{Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if header := r.Header.Get("Authorization"); header != "" {
			t.Errorf("the metrics are asked with the header %q", header)
		}
		w.WriteHeader(http.StatusOK)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// codeOf returns how a request with an Authorization header is answered.
func codeOf(t *testing.T, handler http.Handler, method, path, header string) int {
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if header != "" {
		request.Header.Set("Authorization", header)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	if got := request.Header.Get("Authorization"); got != header {
		t.Errorf("the header of the request has become %q", got)
	}
	return answer.Code
}

// TestMetricsFilter: who may read the metrics, and how often the API server is asked.
func TestMetricsFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &reviewServer{T: t}
		handler := filteredMetrics(t, server)
		const who, may = "who has token-reader", "may reader get /metrics"
		for _, step := range []struct {
			reason          string
			after           time.Duration
			header          string
			method, path    string
			down            bool
			inDoubt, refuse bool
			code            int
			asked           []string
		}{
			{reason: "nobody", code: 401},
			{reason: "another scheme", header: "Basic token-reader", code: 401},
			{reason: "no token", header: "Bearer  ", code: 401},
			{reason: "a token has no space", header: "Bearer token-reader junk", code: 401},
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
			{reason: "what is known needs no API server", header: "Bearer token-other", down: true, code: 403},
			{reason: "whom nobody knows", header: "Bearer made-up", code: 401, asked: []string{"who has made-up"}},
			{reason: "that is not kept: it may be a failure of the API server", header: "Bearer made-up", code: 401, asked: []string{"who has made-up"}},
			{reason: "a refusal goes before a permission", after: 10 * time.Minute, header: "Bearer token-reader", refuse: true, code: 403, asked: []string{who, may}},
			{reason: "and is kept as a refusal is", after: 31 * time.Second, header: "Bearer token-reader", code: 200, asked: []string{may}},
		} {
			time.Sleep(step.after)
			server.fail, server.doubt, server.refuse, server.reviews = nil, step.inDoubt, step.refuse, nil
			if step.down {
				server.fail = []any{errors.New("no route")}
			}
			if step.method == "" {
				step.method = http.MethodGet
			}
			if step.path == "" {
				step.path = "/metrics"
			}
			code := codeOf(t, handler, step.method, step.path, step.header)
			if diff := cmp.Diff(step.asked, server.reviews); diff != "" || code != step.code {
				t.Errorf("%s: answered by %d, want %d; asked (-want +got):\n%s", step.reason, code, step.code, diff)
			}
		}
	})
}

// TestMetricsFilterRepeats: an API server that restarts fails no scrape, one that is away holds none up for long.
func TestMetricsFilterRepeats(t *testing.T) {
	reset, refused := syscall.ECONNRESET, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, tc := range map[string]struct {
		reason      string
		fail        []any
		takes       time.Duration
		code        int
		least, most time.Duration // until the answer
	}{
		"Restart": {reason: "It stops, is not there, and starts.", fail: []any{reset, refused, 503, 500, nil}, code: 200, least: 4 * time.Second, most: 5 * time.Second},
		"Busy":    {reason: "It asks to come later.", fail: []any{429, nil}, code: 200, least: 500 * time.Millisecond, most: 600 * time.Millisecond},
		"Away":    {reason: "Five times are enough.", fail: []any{refused}, code: 500, least: 4 * time.Second, most: 5 * time.Second},
		"Slow":    {reason: "A scrape waits for 10 seconds.", fail: []any{503}, takes: 3 * time.Second, code: 500, least: 10 * time.Second, most: 10 * time.Second},
		"Wrong":   {reason: "What is not allowed is not repeated.", fail: []any{403}, code: 500},
		"Foreign": {reason: "Nor is a server that is not to be trusted.", fail: []any{x509.UnknownAuthorityError{}}, code: 500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := filteredMetrics(t, &reviewServer{T: t, fail: tc.fail, takes: tc.takes})
				began := time.Now()
				code := codeOf(t, handler, http.MethodGet, "/metrics", "Bearer token-reader")
				if took := time.Since(began); code != tc.code || took < tc.least || took > tc.most {
					t.Errorf("%s\nit answers %d after %s, want %d after %s to %s", tc.reason, code, took, tc.code, tc.least, tc.most)
				}
			})
		})
	}
}

// TestMetricsFilterAsksOnce: several who come with the same token at once are one question, whose end is not that of who came first.
func TestMetricsFilterAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &reviewServer{T: t, takes: time.Second}
		handler := filteredMetrics(t, server)
		first, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		codes := make([]int, 3)
		var asking sync.WaitGroup
		for i, ctx := range []context.Context{first, t.Context(), t.Context()} {
			asking.Go(func() {
				request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
				request.Header.Set("Authorization", "Bearer token-reader")
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				codes[i] = answer.Code
			})
			synctest.Wait()
		}
		asking.Wait()
		asked := 0
		for _, review := range server.reviews {
			if review == "who has token-reader" {
				asked++
			}
		}
		if diff := cmp.Diff([]int{500, 200, 200}, codes); diff != "" || asked != 1 {
			t.Errorf("who it is was asked %d times, want once; the answers (-want +got):\n%s", asked, diff)
		}
	})
}
