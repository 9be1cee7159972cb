package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

// work writes for each owner from the channel, until it is closed.
func work(ctx context.Context, c client.Client, owners <-chan *memcached.Memcached) error {
	for m := range owners {
		if err := write(ctx, c, m); err != nil {
			return fmt.Errorf("writing for %q in %q: %w", m.Name, m.Namespace, err)
		}
	}
	return nil
}

// write sends the two writes of an owner: its Deployment and its status.
func write(ctx context.Context, c client.Client, m *memcached.Memcached) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}}
	if err := writeDeployment(ctx, c, m, d); err != nil {
		return err
	}
	before := m.DeepCopy()
	memcached.SetStatus(m, d, nil)
	if err := c.Status().Patch(ctx, m, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patching status: %w", err)
	}
	return nil
}

// writeDeployment creates the Deployment of a new owner, and patches the size of
// one whose spec changed.
func writeDeployment(ctx context.Context, c client.Client, m *memcached.Memcached, d *appsv1.Deployment) error {
	if m.Generation > 1 {
		size := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, m.Spec.Size)
		if err := c.Patch(ctx, d, client.RawPatch(types.MergePatchType, size)); err != nil {
			return fmt.Errorf("patching deployment: %w", err)
		}
		return nil
	}
	memcached.SetDeployment(d, m)
	d.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(m, memcached.GroupVersion().WithKind("Memcached")),
	}
	if err := c.Create(ctx, d); err != nil {
		return fmt.Errorf("creating deployment: %w", err)
	}
	return nil
}
