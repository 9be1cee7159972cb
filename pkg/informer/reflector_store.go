package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/internal/packed"
)

// reflectorStore is what the Reflector of an epoch writes to.
type reflectorStore struct{ epoch *epoch }

var (
	_ cache.TransformingStore      = reflectorStore{}
	_ cache.ResourceVersionUpdater = reflectorStore{}
)

// Add implements cache.ReflectorStore.
func (k reflectorStore) Add(obj any) error { return k.applyEvent(obj, (*objectstore.Store).SetObject) }

// Update implements cache.ReflectorStore.
func (k reflectorStore) Update(obj any) error {
	return k.applyEvent(obj, (*objectstore.Store).SetObject)
}

// Delete implements cache.ReflectorStore.
func (k reflectorStore) Delete(obj any) error {
	return k.applyEvent(obj, (*objectstore.Store).RemoveObject)
}

// Resync implements cache.ReflectorStore; the Reflector has no resync period.
func (k reflectorStore) Resync() error { return nil }

// UpdateResourceVersion implements cache.ResourceVersionUpdater: events and
// bookmarks move the informer on.
func (k reflectorStore) UpdateResourceVersion(resourceVersion string) {
	k.epoch.advanceTo(resourceVersion)
}

// Transformer implements cache.TransformingStore: while the first list streams
// in, the Reflector keeps objects as small as the store does.
func (k reflectorStore) Transformer() cache.TransformFunc {
	return k.epoch.informer.projection.Transform
}

// Replace implements cache.ReflectorStore. The objects of the list are made one after the other.
func (k reflectorStore) Replace(list []any, resourceVersion string) error {
	projection := k.epoch.informer.projection
	objects := make([]packed.Map, len(list))
	for i, obj := range list {
		var isPacked bool
		if objects[i], isPacked = obj.(packed.Map); isPacked {
			continue // by the Transformer
		}
		projected, err := projection.ProjectDelivered(obj)
		if err != nil {
			return err
		}
		objects[i] = projection.Pack(projected)
	}
	k.epoch.receiveList(func(yield func(*unstructured.Unstructured) bool) {
		for _, object := range objects {
			if !yield(projection.Unpack(object)) {
				return
			}
		}
	}, resourceVersion)
	return nil
}

func (k reflectorStore) applyEvent(obj any, do func(*objectstore.Store, *unstructured.Unstructured) objectstore.Change) error {
	object, err := k.epoch.informer.projection.ProjectDelivered(obj)
	if err != nil {
		return err
	}
	k.epoch.informer.changeStore(k.epoch.number, func(s *objectstore.Store) objectstore.Change { return do(s, object) }, nil)
	return nil
}
