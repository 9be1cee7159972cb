package streamstore

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

// AwaitWritten waits until the stream shows an object as the API server answered a write of it, is refused, or ended is
// closed. The error is that of ctx.
func (s *Stream) AwaitWritten(ctx context.Context, ended <-chan struct{}, object client.Object) error {
	return s.waitUntil(ctx, ended, func() bool { return s.showsLocked(object) })
}

// AwaitDeleted is AwaitWritten for a deletion. before is the resourceVersion that was shown before it.
func (s *Stream) AwaitDeleted(ctx context.Context, ended <-chan struct{}, object client.Object, before string) error {
	return s.waitUntil(ctx, ended, func() bool { return s.showsDeletionLocked(object, before) })
}

// VersionShown returns the resourceVersion of the object as it is shown, or "".
func (s *Stream) VersionShown(object client.Object) string {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return versionOf(s.findLocked(object))
}

// waitUntil waits until something is shown, the stream is refused or ended is closed. The error is that of ctx.
func (s *Stream) waitUntil(ctx context.Context, ended <-chan struct{}, isShown func() bool) error {
	for {
		s.store.mu.Lock()
		if s.refusal != nil || s.synced && isShown() {
			s.store.mu.Unlock()
			return nil
		}
		if s.advanced == nil {
			s.advanced = make(chan struct{})
		}
		advanced := s.advanced
		s.store.mu.Unlock()
		select {
		case <-advanced:
		case <-ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// findLocked returns the stored object of the same name, or nil.
func (s *Stream) findLocked(object client.Object) any {
	found, _, err := s.indexer.Get(object)
	if err != nil {
		return nil
	}
	return found
}

// showsLocked reports whether the stream has come to a written object, or has no part in it.
func (s *Stream) showsLocked(object client.Object) bool {
	if isReached(s.progress, object.GetResourceVersion()) {
		return true
	}
	if found := s.findLocked(object); found != nil {
		return isReached(versionOf(found), object.GetResourceVersion())
	}
	return s.selector.Evaluate(object) != objectstore.Selected
}

// showsDeletionLocked reports whether the object is gone, or on its way. before is what was shown of it when it was
// deleted.
func (s *Stream) showsDeletionLocked(object client.Object, before string) bool {
	found := s.findLocked(object)
	if found == nil { // the stream may not have come to the object yet
		version := object.GetResourceVersion()
		return before != "" || version == "" || isReached(s.progress, version) || s.selector.Evaluate(object) != objectstore.Selected
	}
	accessor, err := meta.Accessor(found)
	return err != nil || accessor.GetDeletionTimestamp() != nil || object.GetUID() != "" && accessor.GetUID() != object.GetUID()
}

// isReached reports whether one resourceVersion is another one, or is known to be later.
func isReached(version, wanted string) bool {
	if version == wanted {
		return wanted != ""
	}
	order, err := resourceversion.CompareResourceVersion(version, wanted)
	return err == nil && order >= 0
}
