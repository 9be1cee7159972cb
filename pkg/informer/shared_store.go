package informer

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// sharedStore is what the Reflector of an epoch writes to that has several informers: each gets its own part of an object.
type sharedStore struct {
	epoch  *epoch
	stores []cache.ReflectorStore // by feed
}

var (
	_ cache.TransformingStore      = sharedStore{}
	_ cache.ResourceVersionUpdater = sharedStore{}
)

// partList is an object as each feed wants it; nil for one that does not want it, or cannot have it.
type partList []any

// sharedObject is an object of an event, with its parts. It is to the Reflector what one of them is.
type sharedObject struct {
	deliveredObject
	parts partList
}

// deliveredObject is what the Reflector looks at.
type deliveredObject interface {
	runtime.Object
	metav1.Object
}

// decodeShared makes the object of an event. It is an error if nobody can have it, or nobody is left.
func (e *epoch) decodeShared(data []byte) (runtime.Object, error) {
	parts, err := e.decodeParts(data)
	for _, part := range parts {
		if object, ok := part.(deliveredObject); ok {
			return sharedObject{object, parts}, nil
		}
	}
	if err == nil {
		err = errNobody
	}
	return nil, err
}

// decodeParts makes the parts of an object: none for informers that have stopped. Who cannot have it leaves; the error says
// why.
func (e *epoch) decodeParts(data []byte) (parts partList, failed error) {
	parts = make(partList, len(e.feeds))
	for i, f := range e.feeds {
		if f.hasStopped() {
			continue
		}
		part, err := f.decodePart(data)
		if err != nil {
			failed = errors.Join(failed, err)
			f.leaveShared(err)
			continue
		}
		parts[i] = part
	}
	return parts, failed
}

// decodePart makes the part of one feed of JSON.
func (f *feed) decodePart(data []byte) (runtime.Object, error) {
	if storage, ok := f.storage.(SharedStorage); ok {
		return storage.DecodeObject(data)
	}
	return f.decodeEvent(data)
}

// leaveShared gives an informer a stream of its own that cannot have what others can.
func (f *feed) leaveShared(err error) {
	if !f.isolated.Swap(true) {
		f.env.options.Logger.Info("an object could not be read from a shared stream", "stream", f.key.String(), "reason", err.Error())
		f.epoch.stream.detach(f.sharedInformer)
	}
}

// partsOf returns the parts of what the Reflector has from an event, from the Transformer, or from a list.
func (e *epoch) partsOf(obj any) (partList, error) {
	parts := make(partList, len(e.feeds))
	switch obj := obj.(type) {
	case partList:
		return obj, nil
	case sharedObject:
		return obj.parts, nil
	case *metav1.PartialObjectMetadata:
		for i := range e.feeds {
			parts[i] = obj.DeepCopy()
		}
		return parts, nil
	case *unstructured.Unstructured:
		data, err := obj.MarshalJSON()
		if err != nil {
			return nil, err
		}
		parts, _ = e.decodeParts(data) // who cannot have it has left
		return parts, nil
	}
	return nil, fmt.Errorf("reading a shared stream: unexpected type %T", obj)
}

// Add implements cache.ReflectorStore.
func (k sharedStore) Add(obj any) error { return k.applyEvent(obj, cache.ReflectorStore.Add) }

// Update implements cache.ReflectorStore.
func (k sharedStore) Update(obj any) error { return k.applyEvent(obj, cache.ReflectorStore.Update) }

// Delete implements cache.ReflectorStore.
func (k sharedStore) Delete(obj any) error { return k.applyEvent(obj, cache.ReflectorStore.Delete) }

func (k sharedStore) applyEvent(obj any, do func(cache.ReflectorStore, any) error) error {
	parts, err := k.epoch.partsOf(obj)
	if err != nil {
		return err
	}
	var failed error
	for i, store := range k.stores {
		if parts[i] != nil {
			failed = errors.Join(failed, do(store, parts[i]))
		}
	}
	return failed
}

// Resync implements cache.ReflectorStore; the Reflector has no resync period.
func (k sharedStore) Resync() error { return nil }

// UpdateResourceVersion implements cache.ResourceVersionUpdater.
func (k sharedStore) UpdateResourceVersion(resourceVersion string) {
	for _, store := range k.stores {
		store.(cache.ResourceVersionUpdater).UpdateResourceVersion(resourceVersion)
	}
}

// Transformer implements cache.TransformingStore.
func (k sharedStore) Transformer() cache.TransformFunc {
	transforms := make([]cache.TransformFunc, len(k.stores))
	for i, store := range k.stores {
		transforms[i] = store.(cache.TransformingStore).Transformer()
	}
	return func(obj any) (any, error) {
		parts, err := k.epoch.partsOf(obj)
		if err != nil {
			return nil, err
		}
		for i, transform := range transforms {
			if transform == nil || parts[i] == nil {
				continue
			}
			if parts[i], err = transform(parts[i]); err != nil {
				return nil, err
			}
		}
		return parts, nil
	}
}

// Replace implements cache.ReflectorStore. A feed that lacks an object gets nothing: it has a stream of its own.
func (k sharedStore) Replace(list []any, resourceVersion string) error {
	lists := make([][]any, len(k.stores))
	for _, obj := range list {
		parts, err := k.epoch.partsOf(obj)
		if err != nil {
			return err
		}
		for i, part := range parts {
			if part != nil {
				lists[i] = append(lists[i], part)
			}
		}
	}
	var failed error
	for i, store := range k.stores {
		if len(lists[i]) == len(list) {
			failed = errors.Join(failed, store.Replace(lists[i], resourceVersion))
		}
	}
	return failed
}
