package access

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// TestAsk: a question about another user is a SubjectAccessReview, one about the client's
// own identity a SelfSubjectAccessReview. A request that is put off is repeated as often as
// Retries says.
func TestAsk(t *testing.T) {
	secret := Access{Verb: "get", Group: "", Resource: "secrets", Subresource: "x", Name: "key"}
	attributes := &authorizationv1.ResourceAttributes{Namespace: "ns", Verb: "get", Version: "*", Resource: "secrets", Subresource: "x", Name: "key"}
	cases := map[string]struct {
		reason   string
		question Question
		retries  int
		// putOff is how many requests are answered with Retry-After.
		putOff int
		path   string
		spec   authorizationv1.SubjectAccessReviewSpec
		want   Verdict
		fails  bool
		// requests are how many there are.
		requests int
	}{
		"Self": {
			reason:   "an identity asks about itself",
			question: Question{Namespace: "ns", Access: secret}, path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes},
			want: Verdict{Allowed: true, Reason: "because"}, requests: 1,
		},
		"User": {
			reason:   "or about another, with the groups that it is in",
			question: Question{User: "alice", Groups: []string{"g"}, Namespace: "ns", Access: secret}, path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes, User: "alice", Groups: []string{"g"}},
			want: Verdict{Allowed: true, Reason: "because"}, requests: 1,
		},
		"Once": {
			reason:   "without retries one call is one request",
			question: Question{Namespace: "ns", Access: secret}, path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes}, putOff: 1, fails: true, requests: 1,
		},
		"Again": {
			reason:   "with some it is repeated",
			question: Question{Namespace: "ns", Access: secret}, path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes}, putOff: 1, retries: 1,
			want: Verdict{Allowed: true, Reason: "because"}, requests: 2,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				var review authorizationv1.SubjectAccessReview
				if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.Path != c.path {
					t.Errorf("%s: %s, error %v; want %s", c.reason, r.URL.Path, err, c.path)
				}
				if diff := cmp.Diff(c.spec, review.Spec); diff != "" {
					t.Errorf("%s; -want +got:\n%s", c.reason, diff)
				}
				var answer any = authorizationv1.SubjectAccessReview{TypeMeta: review.TypeMeta, Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "because"}}
				w.Header().Set("Content-Type", "application/json")
				if requests <= c.putOff {
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(http.StatusTooManyRequests)
					answer = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonTooManyRequests, Code: http.StatusTooManyRequests}
				}
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			api, err := authorizationv1client.NewForConfigAndClient(&rest.Config{Host: server.URL, QPS: -1}, &http.Client{Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Client{API: api, Retries: c.retries}.Ask(t.Context(), c.question)
			if apierrors.IsTooManyRequests(err) != c.fails || !c.fails && err != nil {
				t.Errorf("%s; error %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || requests != c.requests {
				t.Errorf("%s; %d requests, want %d; -want +got:\n%s", c.reason, requests, c.requests, diff)
			}
		})
	}
}
