package stage

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

// creators is how many owners are made at once: more than any side works on, so
// that the making is not what is measured.
const creators = 20

// Owners returns the names of that many owners, spread over the namespaces.
func (s *Stage) Owners(number int) []Key {
	keys, namespaces := make([]Key, number), s.Namespaces()
	for i := range keys {
		keys[i] = Key{namespace: namespaces[i%len(namespaces)], name: fmt.Sprintf("cache-%04d", i)}
	}
	return keys
}

// Namespaces returns the names of the namespaces.
func (s *Stage) Namespaces() []string {
	names := make([]string, s.options.Namespaces)
	for i := range names {
		names[i] = fmt.Sprintf("bench-%02d", i)
	}
	return names
}

// ownerVersion is the group and version of the owners.
func (s *Stage) ownerVersion() schema.GroupVersion {
	version := memcached.GroupVersion()
	if s.options.OwnerGroup != "" {
		version.Group = s.options.OwnerGroup
	}
	return version
}

// newOwner returns an owner of that name, with nothing in it.
func (s *Stage) newOwner(k Key) *unstructured.Unstructured {
	owner := &unstructured.Unstructured{Object: map[string]any{}}
	owner.SetGroupVersionKind(s.ownerVersion().WithKind("Memcached"))
	owner.SetNamespace(k.namespace)
	owner.SetName(k.name)
	return owner
}

// noOwners returns an empty list of owners.
func (s *Stage) noOwners() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(s.ownerVersion().WithKind("MemcachedList"))
	return list
}

// OwnersServed waits until the API server lists owners. It is for a kind that a user makes.
func (s *Stage) OwnersServed(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		last = s.admin.List(ctx, s.noOwners())
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until owners are served: %w: %w", context.Cause(ctx), last)
	}
	return nil
}

// Create makes the owners, of size 1, and returns when all are there.
func (s *Stage) Create(ctx context.Context, owners []Key) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, k := range owners {
		group.Go(func() error {
			owner := s.newOwner(k)
			owner.Object["spec"] = map[string]any{"size": int64(1)}
			return s.admin.Create(ctx, owner)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("creating %d owners: %w", len(owners), err)
	}
	return nil
}

// Grow makes an owner larger by one and returns when its Deployment was seen to be as large.
func (s *Stage) Grow(ctx context.Context, k Key) (time.Time, error) {
	size := s.observer.size(k) + 1
	if err := s.resize(ctx, k, size); err != nil {
		return time.Time{}, err
	}
	return s.observer.wait(ctx, fmt.Sprintf("Deployment %s/%s has size %d", k.namespace, k.name, size),
		func() bool { return s.observer.pairs[k].replicas == size })
}

// resize sets the size of an owner.
func (s *Stage) resize(ctx context.Context, k Key, size int64) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, size))
	if err := s.admin.Patch(ctx, s.newOwner(k), patch); err != nil {
		return fmt.Errorf("resizing owner %s/%s: %w", k.namespace, k.name, err)
	}
	return nil
}

// Converged waits until that many owners have converged and returns when the
// last one did.
func (s *Stage) Converged(ctx context.Context, owners int) (time.Time, error) {
	return s.observer.wait(ctx, fmt.Sprintf("%d owners have converged", owners),
		func() bool { return s.observer.done == owners })
}

// Wipe deletes all owners, then their Deployments (there is no garbage collector
// here), and returns when the watches have seen them go. It is for a stage without other children.
func (s *Stage) Wipe(ctx context.Context) error {
	if err := s.deleteAll(ctx, s.newOwner(Key{})); err != nil {
		return fmt.Errorf("deleting all owners: %w", err)
	}
	if _, err := s.observer.wait(ctx, "all owners are gone", s.observer.noOwner); err != nil {
		return err
	}
	if err := s.deleteAll(ctx, &appsv1.Deployment{}); err != nil {
		return fmt.Errorf("deleting all Deployments: %w", err)
	}
	_, err := s.observer.wait(ctx, "all Deployments are gone", func() bool { return len(s.observer.pairs) == 0 })
	return err
}

// deleteAll deletes all objects of a kind in the namespaces of the benchmark.
func (s *Stage) deleteAll(ctx context.Context, kind client.Object) error {
	for _, namespace := range s.Namespaces() {
		if err := s.admin.DeleteAllOf(ctx, kind, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("in namespace %q: %w", namespace, err)
		}
	}
	return nil
}
