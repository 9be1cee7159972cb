package permissions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/permissions"
)

// apiServer answers reviews from a list of rights, and reads from a list of objects.
type apiServer struct {
	// granted are rights as `user namespace: verb resource`; the namespace is empty for all.
	granted []string
	// objects are what a path is answered with, as JSON. Other paths do not exist.
	objects map[string]string
	// refused are the paths that are answered 403, and failing those that are answered 500.
	refused, failing []string

	mu    sync.Mutex // guards asked
	asked []string   // method, path, and who is impersonated
}

// start serves until the test ends, and returns a Cluster that asks as the caller.
func (s *apiServer) start(t *testing.T) permissions.Cluster {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "App"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Pod"},
	} {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	return permissions.Cluster{Config: config, Typed: typed, Objects: objects, Mapper: mapper}
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user := r.Header.Get("Impersonate-User")
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+user))
	s.mu.Unlock()
	resource := schema.GroupResource{Resource: r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]}
	switch body, known := s.objects[r.URL.Path]; {
	case slices.Contains(s.refused, r.URL.Path):
		fail(w, apierrors.NewForbidden(resource, "", nil))
	case slices.Contains(s.failing, r.URL.Path):
		fail(w, apierrors.NewInternalError(fmt.Errorf("out of order")))
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		reply(w, http.StatusCreated, authenticationv1.SelfSubjectReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"},
			Status:   authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "caller"}},
		})
	case strings.HasSuffix(r.URL.Path, "accessreviews"):
		s.review(w, r, user)
	case known:
		reply(w, http.StatusOK, json.RawMessage(body))
	default:
		fail(w, apierrors.NewNotFound(resource, ""))
	}
}

// review answers a SelfSubjectAccessReview or a SubjectAccessReview.
func (s *apiServer) review(w http.ResponseWriter, r *http.Request, user string) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	if user == "" {
		user = "caller"
	}
	if review.Spec.User != "" {
		user = review.Spec.User
	}
	a := review.Spec.ResourceAttributes
	right := a.Verb + " " + strings.TrimSuffix(a.Resource+"/"+a.Subresource, "/")
	review.Status.Allowed = slices.Contains(s.granted, user+" : "+right) || slices.Contains(s.granted, user+" "+a.Namespace+": "+right)
	reply(w, http.StatusCreated, review)
}

func fail(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.APIVersion, status.Kind = "v1", "Status"
	reply(w, int(status.Code), status)
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err) // what tests answer can be encoded
	}
}

// count returns how many requests began with a text.
func (s *apiServer) count(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.asked {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// told is a Reporter that keeps what it is told.
type told struct{ warnings []string }

// PrintWarning implements permissions.Reporter.
func (r *told) PrintWarning(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// ShowProgress implements permissions.Reporter.
func (r *told) ShowProgress(text func() string) (stop func()) {
	_ = text() // it may be asked for at any time
	return func() {}
}
