package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ownerName is the name of the owner in each namespace, and of its Deployment.
const ownerName = "cache"

// cycle is one that is over.
type cycle struct {
	namespace string
	// latencies are in seconds; without that of the streams, which is in the audit
	// log.
	latencies map[metric]float64
	// revoked is when the rights were taken back, cleared when the owner was deleted
	// because the cycle was over.
	revoked, cleared time.Time
}

// cycle goes through a cycle in a namespace that has nothing but its Role, and
// leaves it so.
func (t *trial) cycle(ctx context.Context, namespace string, random *rand.Rand) (cycle, error) {
	c := cycle{namespace: namespace, latencies: map[metric]float64{}}
	isDenied := func(p place) bool { return p.verdict == denied }
	isDeployed := func(p place) bool { return p.deployed }
	steps := []struct {
		metric metric
		do     func(context.Context, string) error
		holds  func(place) bool
		after  func(context.Context, string) error
	}{
		{deniedToStatus, t.createOwner, isDenied, t.unwatched},
		{grantToChild, t.grantHere, isDeployed, t.served},
		{revokeToStatus, t.revoke, isDenied, t.unwatched},
	}
	for _, step := range steps {
		if err := pause(ctx, time.Duration(random.Int64N(int64(t.Pause)+1))); err != nil {
			return cycle{}, err
		}
		began := time.Now()
		if err := step.do(ctx, namespace); err != nil {
			return cycle{}, err
		}
		at, err := t.until(ctx, namespace, string(step.metric), step.holds)
		if err != nil {
			return cycle{}, err
		}
		c.latencies[step.metric] = at.Sub(began).Seconds()
		c.revoked = began // the last step is that
		if err := step.after(ctx, namespace); err != nil {
			return cycle{}, err
		}
	}
	c.cleared = time.Now()
	return c, t.clear(ctx, namespace)
}

// served waits until a namespace is in the steady state: the owner's status says
// that all is permitted, and all watches are open.
func (t *trial) served(ctx context.Context, namespace string) error {
	if _, err := t.until(ctx, namespace, "the status says permitted", func(p place) bool { return p.verdict == permitted }); err != nil {
		return err
	}
	return t.untilOpen(ctx, namespace, watchesEach)
}

// unwatched waits until Ambit has no watch open in a namespace.
func (t *trial) unwatched(ctx context.Context, namespace string) error {
	return t.untilOpen(ctx, namespace, 0)
}

// until waits for Ambit in a namespace, and not for ever.
func (t *trial) until(ctx context.Context, namespace, what string, holds func(place) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("it did not happen within %s", t.Timeout))
	defer cancel()
	return t.seen.until(ctx, namespace, what, holds)
}

// untilOpen waits until Ambit has that many watches open in a namespace.
func (t *trial) untilOpen(ctx context.Context, namespace string, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("it did not happen within %s", t.Timeout))
	defer cancel()
	return t.streams.until(ctx, namespace, n)
}

func (t *trial) grantHere(ctx context.Context, namespace string) error {
	return t.grant(ctx, namespace, t.way.user)
}

func (s *stage) createOwner(ctx context.Context, namespace string) error {
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": ownerName},
		"spec":     map[string]any{"size": int64(1)},
	}}
	if _, err := s.objects.Resource(owners()).Namespace(namespace).Create(ctx, owner, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the owner in namespace %q: %w", namespace, err)
	}
	return nil
}

// clear deletes the owner of a namespace, then its Deployment (there is no garbage
// collector here), and returns when both are gone.
func (s *stage) clear(ctx context.Context, namespace string) error {
	err := s.objects.Resource(owners()).Namespace(namespace).Delete(ctx, ownerName, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("deleting the owner in namespace %q: %w", namespace, err)
	}
	if _, err := s.seen.until(ctx, namespace, "the owner is gone", func(p place) bool { return !p.owner }); err != nil {
		return err
	}
	err = s.objects.Resource(deployments()).Namespace(namespace).Delete(ctx, ownerName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the Deployment in namespace %q: %w", namespace, err)
	}
	_, err = s.seen.until(ctx, namespace, "the Deployment is gone", func(p place) bool { return !p.deployed })
	return err
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
