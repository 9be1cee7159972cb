package informer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/informer/projection"
	"github.com/ambit-dev/ambit/pkg/internal/packed"
)

// reflectorStore is what the Reflector of an epoch writes to, for an informer with a store of package objectstore.
type reflectorStore struct{ *feed }

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
	k.advanceTo(resourceVersion)
}

// Transformer implements cache.TransformingStore: while the first list streams
// in, the Reflector keeps objects as small as the store does.
func (k reflectorStore) Transformer() cache.TransformFunc {
	return k.projection.Transform
}

// Replace implements cache.ReflectorStore. The objects of the list are made one after the other.
func (k reflectorStore) Replace(list []any, resourceVersion string) error {
	form := k.projection
	objects := make([]packed.Map, len(list))
	for i, obj := range list {
		var isPacked bool
		if objects[i], isPacked = obj.(packed.Map); isPacked {
			continue // by the Transformer
		}
		projected, err := form.ProjectDelivered(obj)
		if err != nil {
			return err
		}
		objects[i] = form.Pack(projected)
	}
	k.receiveList(func(yield func(*unstructured.Unstructured) bool) {
		for _, object := range objects {
			if !yield(form.Unpack(object)) {
				return
			}
		}
	}, resourceVersion)
	return nil
}

func (k reflectorStore) applyEvent(obj any, do func(*objectstore.Store, *unstructured.Unstructured) objectstore.Change) error {
	object, err := k.projection.ProjectDelivered(obj)
	if err != nil {
		return err
	}
	k.changeStore(k.number, func(s *objectstore.Store) objectstore.Change { return do(s, object) }, nil)
	return nil
}

// Observe is read-your-own-writes: it puts an object, as the API server answered
// a write of it, into the store of an informer before the event of that write
// arrives. Without it, a handler that looks at the cache right after a write
// sees the time before it.
//
// Handlers that need the object are told, except those given as by (the
// writer knows already); the event of the write then tells nobody. The object is
// ignored where the informer knows better: it has seen a newer one, or has passed
// its resourceVersion without it (it is deleted, or not selected). While the
// first list is not in, the object waits and is used if the list turns out older.
//
// obj stays the caller's. A key that nobody needs is ignored.
func (s *Set) Observe(key Key, obj *unstructured.Unstructured, by ...EventHandler) {
	if st := s.informerOf(key); st != nil {
		st.observeKept(st.projection.ProjectWritten(obj), st.selector.Evaluate(obj), by)
	}
}

// DecoderFor returns a function that makes of the JSON of an object, which must be valid (jsonwalk) and is
// not kept, what the store of a key holds of it; nil if nobody needs the key. The function is safe
// for concurrent use. Nobody may change the objects.
func (s *Set) DecoderFor(key Key) func(data []byte) (*unstructured.Unstructured, error) {
	st := s.informerOf(key)
	if st == nil {
		return nil
	}
	return st.decodeAnswer
}

// ObserveDecoded is Observe of an object that DecoderFor has made for the key.
func (s *Set) ObserveDecoded(key Key, object *unstructured.Unstructured, by ...EventHandler) {
	if st := s.informerOf(key); st != nil {
		st.observeKept(object, st.selector.Evaluate(object), by)
	}
}

func (st *sharedInformer) observeKept(object *unstructured.Unstructured, belongs objectstore.Selection, by []EventHandler) {
	st.changeStore(0, func(s *objectstore.Store) objectstore.Change { return s.ObserveWrite(object, belongs) }, by)
}

// decodeAnswer makes what is kept of the object of an answer. The event of the write may have come before.
func (st *sharedInformer) decodeAnswer(data []byte) (*unstructured.Unstructured, error) {
	name, resourceVersion := projection.ReadVersion(data)
	st.mu.RLock()
	known := st.store.ObjectOfVersion(name, resourceVersion)
	st.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	kept, err := st.projection.Decode(data)
	return kept.Unstructured, err
}

// decodeEvent makes what is kept of the object of an event. That of an own write is known already.
func (st *sharedInformer) decodeEvent(data []byte) (runtime.Object, error) {
	if known := st.ownWriteOf(data); known != nil {
		return projection.Transformed{Unstructured: known}, nil
	}
	return st.projection.Decode(data)
}

func (st *sharedInformer) ownWriteOf(data []byte) *unstructured.Unstructured {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if !st.store.HasOwnWrites() {
		return nil
	}
	return st.store.OwnWrite(projection.ReadVersion(data))
}

// Deleted is Observe for a deletion that the API server has accepted: obj is the
// object as it was last known, with its uid and resourceVersion. Events and lists
// from before the deletion no longer bring it back. An object that lingers
// because of a finalizer comes back, as Added, with its deletionTimestamp.
func (s *Set) Deleted(key Key, obj *unstructured.Unstructured, by ...EventHandler) {
	if st := s.informerOf(key); st != nil {
		st.changeStore(0, func(s *objectstore.Store) objectstore.Change { return s.ObserveDeletion(obj) }, by)
	}
}

// HoldEvents keeps the events of an object from a handler of a key while the handler has the object
// written: the event of a write may come before its answer, and would say what Observe says.
// release has to be called once, after Observe: the event of the resourceVersion that the write was
// answered is dropped then, and the handler is told the others, in their order. An empty
// resourceVersion is none: the write failed, or was of another object.
func (s *Set) HoldEvents(key Key, name types.NamespacedName, handler EventHandler) (release func(resourceVersion string)) {
	st := s.informerOf(key)
	if st == nil {
		return func(string) {}
	}
	hold := &eventHold{handler: handler, name: name}
	st.mu.Lock()
	st.holds = append(st.holds, hold)
	st.mu.Unlock()
	return func(resourceVersion string) { st.releaseHold(hold, resourceVersion) }
}
