package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// sink is what the Reflector of one epoch writes to. Once the stream is in
// another epoch, or stopped, it takes nothing any more.
type sink struct {
	stream *stream
	epoch  uint64
	opener *opener // the one of the epoch
}

var (
	_ cache.TransformingStore      = sink{}
	_ cache.ResourceVersionUpdater = sink{}
)

// Add implements cache.ReflectorStore.
func (k sink) Add(obj any) error { return k.apply(obj, (*store).set) }

// Update implements cache.ReflectorStore.
func (k sink) Update(obj any) error { return k.apply(obj, (*store).set) }

// Delete implements cache.ReflectorStore.
func (k sink) Delete(obj any) error { return k.apply(obj, (*store).remove) }

// Resync implements cache.ReflectorStore; the Reflector has no resync period.
func (k sink) Resync() error { return nil }

// UpdateResourceVersion implements cache.ResourceVersionUpdater: events and
// bookmarks move the stream on.
func (k sink) UpdateResourceVersion(resourceVersion string) {
	k.stream.passed(k.epoch, resourceVersion)
}

// Transformer implements cache.TransformingStore: while the first list streams
// in, the Reflector keeps objects as small as the store does.
func (k sink) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		object, err := k.stream.keep(obj)
		return projected{object}, err
	}
}

// Replace implements cache.ReflectorStore.
func (k sink) Replace(list []any, resourceVersion string) error {
	objects := make([]*unstructured.Unstructured, len(list))
	for i, obj := range list {
		object, err := k.stream.keep(obj)
		if err != nil {
			return err
		}
		objects[i] = object
	}
	if k.stream.listed(k.epoch, objects, resourceVersion) {
		k.opener.listed()
	}
	return nil
}

func (k sink) apply(obj any, do func(*store, *unstructured.Unstructured) change) error {
	object, err := k.stream.keep(obj)
	if err != nil {
		return err
	}
	k.stream.change(k.epoch, func(s *store) change { return do(s, object) })
	return nil
}
