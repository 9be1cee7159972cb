package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestOneRefusedReviewLosesNobody: a single review is answered 401, as it happens
// when tokens are rotated. The owners are worked on again after the next one.
func TestOneRefusedReviewLosesNobody(t *testing.T) {
	w := newWorld(t, "wide")
	w.alone()
	w.grantEverywhere("owners", ownerRights()...)
	rights := without(childRights(), "deployments", "delete") // so that it is probed
	namespace := w.namespace(rights...)
	w.decided(namespace, true, rights...)
	w.createOwner(namespace, "cache", 1)
	refuse := &refuseReviews{namespace: namespace}
	config := rest.CopyConfig(w.control.User(w.user))
	config.Wrap(refuse.wrap)
	w.launch(config, nil, memcached(t))
	w.streamsIn(namespace, "deployments", "pods")

	mark := w.control.Audit().Mark()
	refuse.next.Store(true)
	// They are gone for a second or so: too short to be sure to see it.
	for _, resource := range []string{"deployments", "pods"} {
		w.beginsAnew(mark, namespace, resource)
	}
	w.streamsIn(namespace, "deployments", "pods")
	if err := w.typed.AppsV1().Deployments(namespace).Delete(t.Context(), "cache", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.deploymentHas(namespace, "cache", 1)
}

// beginsAnew waits until a stream was opened since mark that brings its list: the one before
// was given up. One that is only verified goes on where it was.
func (w *world) beginsAnew(mark cluster.Mark, namespace, resource string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the stream of %s in %q begins anew", resource, namespace), func(context.Context) error {
		anew := w.since(mark, func(r cluster.Request) bool {
			return r.Namespace == namespace && r.Resource == resource && r.IsWatchOpened() && strings.Contains(r.URI, "sendInitialEvents=true")
		})
		if len(anew) == 0 {
			return errors.New("it has not")
		}
		return nil
	})
}

// refuseReviews answers the next review of a namespace with 401.
type refuseReviews struct {
	namespace string
	next      atomic.Bool
	transport http.RoundTripper
}

func (r *refuseReviews) wrap(transport http.RoundTripper) http.RoundTripper {
	r.transport = transport
	return r
}

// RoundTrip implements http.RoundTripper.
func (r *refuseReviews) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || !strings.HasSuffix(request.URL.Path, "selfsubjectrulesreviews") {
		return r.transport.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(r.namespace)) || !r.next.CompareAndSwap(true, false) {
		return r.transport.RoundTrip(request)
	}
	return &http.Response{
		StatusCode: http.StatusUnauthorized, Status: "401 Unauthorized", Request: request,
		Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("Unauthorized")),
	}, nil
}
