package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestAllPermittedIsAskedOnce: where all that a policy needs is permitted
// cluster-wide, no single namespace is reviewed; when a right is taken away
// everywhere, each is, its owner says so, no stream of it is left, and nothing is tried in
// vain. When it comes back the work goes on. It sees owners cluster-wide and so runs alone.
func TestAllPermittedIsAskedOnce(t *testing.T) {
	const spaces = 6
	w := newWorld(t, "wide")
	w.alone()
	w.grantEverywhere("owners", ownerRights()...)
	w.grantEverywhere("children", childRights()...)
	var namespaces []string
	for range spaces {
		namespaces = append(namespaces, w.namespace())
	}
	for _, namespace := range namespaces {
		w.decided(namespace, true, memcachedRights()...)
		w.createOwner(namespace, "cache", 1)
	}
	mark := w.control.Audit().Mark()
	w.run(nil, memcached(t))
	for _, namespace := range namespaces {
		w.condition(namespace, "cache", v1alpha1.ConditionReady, "True", "")
	}
	requests, err := w.control.Audit().Since(mark, w.user)
	if err != nil {
		t.Fatal(err)
	}
	requests = slices.DeleteFunc(requests, func(r cluster.Request) bool { return !isSelfReview(r) || r.Resource == "selfsubjectreviews" })
	// One for the policy, one for the right to watch RBAC objects, and once more in
	// case that they are not asked for together.
	if len(requests) > 3 {
		t.Errorf("%d reviews for %d namespaces: want the cluster-wide ones only", len(requests), spaces)
	}
	// What is ours is watched in all namespaces together, and what others have where there are owners.
	w.openStreams(map[string]int{"memcacheds": 1, "deployments": 1, "pods": spaces})
	w.revokeEverywhere("children")
	for _, namespace := range namespaces {
		w.permittedSays(namespace, "cache", fmt.Sprintf(
			"cannot get, list, watch, create, patch, delete deployments.apps in namespace %q as wide; cannot list, watch pods in namespace %[1]q as wide", namespace))
	}
	w.openStreams(map[string]int{"memcacheds": 1})
	mark = w.settledSince(w.control.Audit().Mark(), isSelfReview) // what is denied is asked for again
	w.patiently(5 * time.Second)                                  // longer than any stream or write waits to be tried again
	w.none(mark, "a refused request", isRefused)
	w.grantEverywhere("again", childRights()...)
	for _, namespace := range namespaces {
		w.streamsIn(namespace, "deployments", "pods")
		w.resize(namespace, "cache", 2)
		w.deploymentHas(namespace, "cache", 2)
	}
}

// permittedSays waits until the owner is denied exactly this. Before, it may say less: what
// a stream was refused is told after half a second, also if the review that knows the rest
// takes longer.
func (w *world) permittedSays(namespace, name, want string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s/%s says that it %s", namespace, name, want), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		if got := statusSays(owner, v1alpha1.ConditionPermitted); got != "False Forbidden: "+want {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	})
}
