package manager

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/freeport"
)

// reviewers are the rights that it takes to ask who somebody is and what they may do.
func reviewers() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("authentication.k8s.io", "tokenreviews", "create"), rule("authorization.k8s.io", "subjectaccessreviews", "create"),
	}
}

// TestMetricsAccess: who may read the metrics, by what they show.
func TestMetricsAccess(t *testing.T) {
	w := newWorld(t)
	token := func(name string) string {
		config, err := control.Cluster(t).ServiceAccount(t.Context(), w.namespace, name)
		if err != nil {
			t.Fatal(err)
		}
		return config.BearerToken
	}
	reader, stranger := token("reader"), token("stranger")
	w.grantCluster(w.namespace+"-reader", rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.namespace, Name: "reader"},
		rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics", "/policies"}, Verbs: []string{"get"}})
	w.grantCluster(w.namespace+"-ambit", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: ambit}, reviewers()...)
	address := freeport.ForTest(t)
	r := w.run(Options{Programs: []*policy.Program{memcached(t)}, Namespaces: []string{w.namespace},
		Metrics: ctrlmetrics.Registry, MetricsServer: MetricsServer{Address: address}})
	url := "https://" + address + "/metrics"
	w.says(url, reader, http.StatusOK)
	for name, test := range map[string]struct {
		token string
		code  int
	}{
		"anonymous":       {code: http.StatusUnauthorized},
		"no such token":   {token: "made-up", code: http.StatusUnauthorized},
		"without a right": {token: stranger, code: http.StatusForbidden},
		"with the right":  {token: reader, code: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := get(t.Context(), url, test.token)
			if err != nil || got.code != test.code || got.proto != "HTTP/1.1" {
				t.Errorf("got %d by %s, %v; want %d by HTTP/1.1", got.code, got.proto, err, test.code)
			}
			if shown := strings.Contains(got.text, "ambit_"); shown != (test.code == http.StatusOK) {
				t.Errorf("metrics are shown: %v", shown)
			}
		})
	}
	names := "https://" + address + "/policies"
	w.says(names, reader, http.StatusOK)
	for token, code := range map[string]int{"": http.StatusUnauthorized, stranger: http.StatusForbidden} {
		if got, err := get(t.Context(), names, token); err != nil || got.code != code || strings.Contains(got.text, "policies: ") {
			t.Errorf("names of policies for who may not see them: got %d %q, %v; want %d", got.code, got.text, err, code)
		}
	}
	if got, err := get(t.Context(), "http://"+address+"/metrics", reader); err == nil && got.code == http.StatusOK {
		t.Error("they are served by HTTP as well")
	}
	r.stop()
	if r.err != nil {
		t.Error(r.err)
	}
}

// TestMetricsWithoutReviews: where Ambit may not ask who somebody is nobody gets in.
func TestMetricsWithoutReviews(t *testing.T) {
	w := newWorld(t)
	address := freeport.ForTest(t)
	w.run(Options{Metrics: ctrlmetrics.Registry, MetricsServer: MetricsServer{Address: address}})
	got := w.says("https://"+address+"/metrics", control.Cluster(t).Admin().BearerToken, http.StatusInternalServerError)
	if strings.Contains(got.text, "ambit_") {
		t.Error("metrics are shown")
	}
}

// TestMetricsInsecure: HTTP and everybody, if that is asked for; and HTTP/2.
func TestMetricsInsecure(t *testing.T) {
	w := newWorld(t)
	address := freeport.ForTest(t)
	r := w.run(Options{Metrics: ctrlmetrics.Registry, MetricsServer: MetricsServer{Address: address, Insecure: true}})
	w.eventually("ambit_leader is 1", func(ctx context.Context) error { return shows(ctx, "http://"+address+"/metrics", "ambit_leader 1") })
	r.stop()
	address = freeport.ForTest(t)
	w.run(Options{Metrics: ctrlmetrics.Registry, MetricsServer: MetricsServer{Address: address, HTTP2: true}})
	if got := w.says("https://"+address+"/metrics", "", http.StatusUnauthorized); got.proto != "HTTP/2.0" {
		t.Errorf("answered by %s", got.proto)
	}
}

// shows returns an error unless the metrics have a line.
func shows(ctx context.Context, url, line string) error {
	got, err := get(ctx, url, "")
	if err == nil && !strings.Contains(got.text, line) {
		err = fmt.Errorf("it shows:\n%s", got.text)
	}
	return err
}
