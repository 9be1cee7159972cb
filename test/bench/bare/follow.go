package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

// follow sends each Memcached that there is or comes to be, and again for each
// change of its spec, until ctx ends or a watch cannot be opened.
func follow(ctx context.Context, c client.WithWatch, owners chan<- *memcached.Memcached) error {
	list := &memcached.MemcachedList{}
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("listing memcacheds: %w", err)
	}
	f := &follower{client: c, owners: owners, seen: map[types.UID]int64{}, at: list.ResourceVersion}
	for i := range list.Items {
		if err := f.send(ctx, &list.Items[i]); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		if err := f.watch(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// follower is where following stands. For one goroutine.
type follower struct {
	client client.WithWatch
	owners chan<- *memcached.Memcached
	// seen are the generations sent before.
	seen map[types.UID]int64
	// at is the resourceVersion that the next watch begins at.
	at string
}

// watch sends what one watch tells, until it ends: a server ends a watch whose
// events it cannot deliver fast enough, and the next one goes on from there.
func (f *follower) watch(ctx context.Context) error {
	w, err := f.client.Watch(ctx, &memcached.MemcachedList{},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: f.at}})
	if err != nil {
		return fmt.Errorf("watching memcacheds: %w", err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		m, ok := event.Object.(*memcached.Memcached)
		if !ok {
			return fmt.Errorf("watching memcacheds: %w", apierrors.FromObject(event.Object))
		}
		f.at = m.ResourceVersion
		if event.Type == watch.Deleted {
			continue
		}
		if err := f.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// send sends m if its spec is new.
func (f *follower) send(ctx context.Context, m *memcached.Memcached) error {
	if f.seen[m.UID] == m.Generation {
		return nil
	}
	f.seen[m.UID] = m.Generation
	select {
	case f.owners <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
