package stories

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
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/test/cluster"
)

// namespaceRights let Ambit see which namespaces there are.
func namespaceRights() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}}
}

// TestEverythingIsTakenAway: all rights were cluster-wide and are taken away at
// once, but for the list of namespaces, none of which was ever asked about. No
// stream is left in any of them, and nothing is tried in vain.
func TestEverythingIsTakenAway(t *testing.T) {
	for name, triggers := range map[string]bool{"RBACObjectsWatchable": true, "Blind": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "wide")
			w.alone()
			left := map[string]int{"namespaces": 1}
			if triggers {
				w.grantEverywhere("triggers", rightsToWatchRBAC())
				for _, resource := range rightsToWatchRBAC().Resources {
					left[resource] = 1
				}
			}
			w.grantEverywhere("namespaces", namespaceRights())
			w.grantEverywhere("all", memcachedRights()...)
			var namespaces []string
			for range 8 {
				namespaces = append(namespaces, w.namespace())
			}
			for _, namespace := range namespaces {
				w.decided(namespace, true, memcachedRights()...)
				w.createOwner(namespace, "cache", 1)
			}
			w.run(nil, memcached(t))
			for _, namespace := range namespaces {
				w.streamsIn(namespace, "deployments", "pods")
			}
			w.revokeEverywhere("all")
			w.openStreams(left)
			mark := w.settledSince(w.control.Audit().Mark(), isSelfReview) // what is denied is asked for again
			time.Sleep(5 * time.Second)                                    // longer than any stream or write waits to be tried again
			if refused := w.since(mark, isRefused); len(refused) > 0 {
				t.Errorf("%d requests were refused while nothing is permitted, the first is %s %s", len(refused), refused[0].Verb, refused[0].URI)
			}
			w.grantEverywhere("again", memcachedRights()...)
			for _, namespace := range namespaces {
				w.streamsIn(namespace, "deployments", "pods")
				w.resize(namespace, "cache", 2)
				w.deploymentHas(namespace, "cache", 2)
			}
		})
	}
}

// TestNamespacesAreTakenAway: when the list of namespaces may not be seen any more,
// work goes on in those that were seen.
func TestNamespacesAreTakenAway(t *testing.T) {
	w := newWorld(t, "wide")
	w.alone()
	w.grantEverywhere("namespaces", namespaceRights())
	namespace := w.namespace(memcachedRights()...)
	w.decided(namespace, true, memcachedRights()...)
	w.createOwner(namespace, "cache", 1)
	a := w.runMeasured(nil, memcached(t))
	w.streamsIn(namespace, "memcacheds", "deployments", "pods")
	w.revokeEverywhere("namespaces")
	w.deniesOnly(a, "", "ambit-system/memcached: list memcacheds.cache.example.com", "ambit-system/memcached: list namespaces",
		"ambit-system/memcached: watch memcacheds.cache.example.com", "ambit-system/memcached: watch namespaces")
	w.streamsIn(namespace, "memcacheds", "deployments", "pods")
	w.resize(namespace, "cache", 2)
	w.deploymentHas(namespace, "cache", 2)
	w.grantEverywhere("namespaces-again", namespaceRights())
	w.deniesOnly(a, "")

	// Where there was an owner, it is told that nobody sees it any more.
	w.unbind(namespace)
	w.deniesOnly(a, namespace, "ambit-system/memcached: list memcacheds.cache.example.com", "ambit-system/memcached: watch memcacheds.cache.example.com")
	w.streamsIn(namespace)
	w.bind(namespace)
	w.deniesOnly(a, namespace)
	w.resize(namespace, "cache", 3)
	w.deploymentHas(namespace, "cache", 3)
}

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
