package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

// follow sends each Memcached that there is or comes to be, and again for each
// change of its spec, until ctx or the watch ends.
func follow(ctx context.Context, c client.WithWatch, owners chan<- *memcached.Memcached) error {
	list := &memcached.MemcachedList{}
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("listing memcacheds: %w", err)
	}
	w, err := c.Watch(ctx, &memcached.MemcachedList{},
		&client.ListOptions{Raw: resumeAt(list.ResourceVersion)})
	if err != nil {
		return fmt.Errorf("watching memcacheds: %w", err)
	}
	defer w.Stop()

	seen := map[types.UID]int64{}
	for i := range list.Items {
		if err := send(ctx, seen, &list.Items[i], owners); err != nil {
			return err
		}
	}
	for event := range w.ResultChan() {
		m, ok := event.Object.(*memcached.Memcached)
		if !ok || event.Type == watch.Deleted {
			continue
		}
		if err := send(ctx, seen, m, owners); err != nil {
			return err
		}
	}
	return fmt.Errorf("watching memcacheds: the watch ended")
}

// send sends m if its spec is new; seen holds the generations sent before.
func send(ctx context.Context, seen map[types.UID]int64, m *memcached.Memcached, owners chan<- *memcached.Memcached) error {
	if seen[m.UID] == m.Generation {
		return nil
	}
	seen[m.UID] = m.Generation
	select {
	case owners <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
