package informer

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// Storage keeps the objects of an informer in the place of its own store, and says where they come from: for
// an embedder that has objects of another type. It has Secrets whole, where the own store keeps no private values that
// Ambit made. Its dynamic type must be comparable: equal values are the same Storage. The
// informer does all the rest: it opens and closes streams, shares them, tries again and tells its handlers of Synced and
// StateChanged. They are told of no object, and its Listers are empty.
//
// Add, Update, Delete, Replace, UpdateResourceVersion and DropAll are called with the informer's lock held, one at
// a time: they must not block, nor call into the Set. After DropAll nothing comes until the next Replace. The
// Transformer, which may be nil, is called before them with no lock held, once or more for an object.
type Storage interface {
	cache.TransformingStore
	cache.ResourceVersionUpdater
	// Source lists and watches the objects. It is called at each start of the informer, with no lock
	// held. An error leaves the informer Degraded, and is tried again.
	Source() (listwatch.Source, error)
	// DropAll forgets all objects: the informer has the given status, which is final, or Stopped.
	DropAll(Status)
	// ObjectCount returns how many objects there are.
	ObjectCount() int
}

// SharedStorage is a Storage whose objects can be made of JSON, so that others may have the same stream: informers whose
// keys are alike but for what is kept of each object, as far as the Set has clients (Options.Clients). Source is then
// called only while nobody else has it. An object that cannot be made gets the informer a stream of its own.
type SharedStorage interface {
	Storage
	// DecodeObject makes an object as Source gives it of its JSON, which is valid and may be used again afterwards. It is
	// called with no lock held, and never where Key.Form.Metadata is set: there all get PartialObjectMetadata.
	DecodeObject(data []byte) (runtime.Object, error)
}

// isSharable reports whether the informer may share its stream.
func (st *sharedInformer) isSharable() bool {
	_, decodes := st.storage.(SharedStorage)
	return !st.isolated.Load() && (st.storage == nil || decodes)
}

// dropStorage forgets what a Storage has; mu is held.
func (st *sharedInformer) dropStorage() {
	if st.storage != nil {
		st.storage.DropAll(st.status)
	}
}

// reflectorStore returns what the Reflector writes to.
func (f *feed) reflectorStore() cache.ReflectorStore {
	if f.storage != nil {
		return storageStore{f}
	}
	return reflectorStore{f}
}

// storageStore is what the Reflector of an epoch writes to if the informer has a Storage. The informer's own
// store stays empty, and only says whether a list is in.
type storageStore struct{ *feed }

var (
	_ cache.TransformingStore      = storageStore{}
	_ cache.ResourceVersionUpdater = storageStore{}
)

// Add implements cache.ReflectorStore.
func (k storageStore) Add(obj any) error { return k.applyEvent(obj, k.storage.Add) }

// Update implements cache.ReflectorStore.
func (k storageStore) Update(obj any) error { return k.applyEvent(obj, k.storage.Update) }

// Delete implements cache.ReflectorStore.
func (k storageStore) Delete(obj any) error { return k.applyEvent(obj, k.storage.Delete) }

// Resync implements cache.ReflectorStore; the Reflector has no resync period.
func (k storageStore) Resync() error { return nil }

// UpdateResourceVersion implements cache.ResourceVersionUpdater.
func (k storageStore) UpdateResourceVersion(resourceVersion string) {
	_ = k.change(func() error { // which returns nil
		k.storage.UpdateResourceVersion(resourceVersion)
		return nil
	})
}

// Transformer implements cache.TransformingStore.
func (k storageStore) Transformer() cache.TransformFunc { return k.storage.Transformer() }

// Replace implements cache.ReflectorStore.
func (k storageStore) Replace(list []any, resourceVersion string) error {
	for i, obj := range list {
		object, err := k.transform(obj)
		if err != nil {
			return err
		}
		list[i] = object
	}
	if err := k.change(func() error { return k.storage.Replace(list, resourceVersion) }); err != nil {
		return err
	}
	k.receiveList(nil, resourceVersion)
	return nil
}

func (k storageStore) applyEvent(obj any, do func(any) error) error {
	object, err := k.transform(obj)
	if err != nil {
		return err
	}
	return k.change(func() error { return do(object) })
}

func (k storageStore) transform(obj any) (any, error) {
	if transform := k.storage.Transformer(); transform != nil {
		return transform(obj)
	}
	return obj, nil
}

// change calls do with the informer's lock held, unless the epoch is over.
func (k storageStore) change(do func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isOver() {
		return nil
	}
	return do()
}
