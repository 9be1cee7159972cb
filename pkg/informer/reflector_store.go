package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// reflectorStore is what the Reflector of one epoch writes to. Once the informer is in
// another epoch, or stopped, it takes nothing any more.
type reflectorStore struct {
	informer      *sharedInformer
	epoch         uint64
	listerWatcher *listerWatcher // the one of the epoch
}

var (
	_ cache.TransformingStore      = reflectorStore{}
	_ cache.ResourceVersionUpdater = reflectorStore{}
)

// Add implements cache.ReflectorStore.
func (k reflectorStore) Add(obj any) error { return k.applyEvent(obj, (*store).setObject) }

// Update implements cache.ReflectorStore.
func (k reflectorStore) Update(obj any) error { return k.applyEvent(obj, (*store).setObject) }

// Delete implements cache.ReflectorStore.
func (k reflectorStore) Delete(obj any) error { return k.applyEvent(obj, (*store).removeObject) }

// Resync implements cache.ReflectorStore; the Reflector has no resync period.
func (k reflectorStore) Resync() error { return nil }

// UpdateResourceVersion implements cache.ResourceVersionUpdater: events and
// bookmarks move the informer on.
func (k reflectorStore) UpdateResourceVersion(resourceVersion string) {
	k.informer.advanceTo(k.epoch, resourceVersion)
}

// Transformer implements cache.TransformingStore: while the first list streams
// in, the Reflector keeps objects as small as the store does.
func (k reflectorStore) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		object, err := k.informer.projectDelivered(obj)
		return projected{object}, err
	}
}

// Replace implements cache.ReflectorStore.
func (k reflectorStore) Replace(list []any, resourceVersion string) error {
	objects := make([]*unstructured.Unstructured, len(list))
	for i, obj := range list {
		object, err := k.informer.projectDelivered(obj)
		if err != nil {
			return err
		}
		objects[i] = object
	}
	if k.informer.listReceived(k.epoch, objects, resourceVersion) {
		k.listerWatcher.listReceived()
	}
	return nil
}

func (k reflectorStore) applyEvent(obj any, do func(*store, *unstructured.Unstructured) storeChange) error {
	object, err := k.informer.projectDelivered(obj)
	if err != nil {
		return err
	}
	k.informer.applyChange(k.epoch, func(s *store) storeChange { return do(s, object) })
	return nil
}
