package e2e

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/cluster"
)

// steady is how long stories look on while nothing is to happen. The guarantees are worded
// for a minute: the simulation (test/sim) looks on for hours, and `make soak` for a minute
// here.
var steady = flag.Duration("steady", 10*time.Second, "how long stories look on while nothing is to happen")

// TestQuiet: with 20 owners converged, `ambit run` neither writes nor reads, and
// when it is killed and started again it writes nothing.
func TestQuiet(t *testing.T) {
	t.Parallel()
	const owners = 20 // five in a namespace: fewer have streams of their own
	w := newWorld(t, "quiet")
	var namespaces []string
	for range 4 {
		namespace := w.namespace(memcachedRights()...)
		w.decided(namespace, true, memcachedRights()...) // rights that come while it runs have it ask again
		namespaces = append(namespaces, namespace)
	}
	binary := buildAmbit(t)
	kill := w.runBinary(binary, namespaces)
	for i := range owners {
		w.createOwner(namespaces[i%len(namespaces)], fmt.Sprintf("cache-%d", i), 1)
	}
	w.allReady(namespaces, owners)

	mark := w.settled()
	w.patiently(*steady)
	w.noRequests(mark, "in the steady state", func(r cluster.Request) bool { return !r.IsWatch() })

	kill()
	w.openStreams(map[string]int{})
	mark = w.control.Audit().Mark()
	w.runBinary(binary, namespaces)
	w.openStreams(map[string]int{"memcacheds": len(namespaces), "deployments": len(namespaces), "pods": len(namespaces)})
	w.settledSince(mark)
	w.noRequests(mark, "after a restart", func(r cluster.Request) bool { return r.IsWrite() && !isSelfReview(r) })
}

// isSelfReview says whether a request asks who or what the requester is allowed to
// be: a POST that writes nothing.
func isSelfReview(r cluster.Request) bool {
	return slices.Contains([]string{"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}, r.Resource)
}

func (w *world) allReady(namespaces []string, want int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d owners are Ready", want), func(ctx context.Context) error {
		ready := 0
		for _, namespace := range namespaces {
			list, err := w.objects.Resource(memcacheds).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range list.Items {
				if c := conditionOf(&list.Items[i], "Ready"); c != nil && c["status"] == "True" {
					ready++
				}
			}
		}
		if ready != want {
			return fmt.Errorf("%d are", ready)
		}
		return nil
	})
}

// settled waits until the story's user has made no request for three seconds,
// and returns the place in the audit log.
func (w *world) settled() cluster.Mark {
	w.t.Helper()
	return w.settledSince(w.control.Audit().Mark())
}

// settledSince is settled, counting from a place in the audit log. Requests that are
// ignored go on for as long as one likes.
func (w *world) settledSince(mark cluster.Mark, ignored ...func(cluster.Request) bool) cluster.Mark {
	w.t.Helper()
	count, since := -1, time.Now()
	w.eventually("there are no more requests", func(context.Context) error {
		requests, err := w.control.Audit().Since(mark, w.user)
		if err != nil {
			return err
		}
		// Watches are reopened all the time, for that is how a revocation is noticed.
		for _, ignored := range append(ignored, cluster.Request.IsWatch) {
			requests = slices.DeleteFunc(requests, ignored)
		}
		if len(requests) != count {
			count, since = len(requests), time.Now()
		}
		if quiet := time.Since(since); quiet < 3*time.Second {
			return fmt.Errorf("the last of %d requests was %s ago", count, quiet)
		}
		return nil
	})
	return w.control.Audit().Mark()
}

func (w *world) noRequests(mark cluster.Mark, when string, counts func(cluster.Request) bool) {
	w.t.Helper()
	requests, err := w.control.Audit().Since(mark, w.user)
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, r := range requests {
		if !counts(r) {
			continue
		}
		if n++; n <= 10 {
			w.t.Errorf("a request %s: %s %s", when, r.Verb, r.URI)
		}
	}
	w.t.Logf("%s: %d requests that should not be, %d requests in all", when, n, len(requests))
}
