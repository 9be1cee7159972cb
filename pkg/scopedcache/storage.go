package scopedcache

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// storage is a stream as the storage of its informer, and as the handler that is told how that is.
type storage struct{ *stream }

var (
	_ informer.Storage      = storage{}
	_ informer.EventHandler = storage{}
)

// Source implements informer.Storage.
func (a storage) Source() (listwatch.Source, error) {
	made, err := a.kind.settings.connect(a.kind.key, a.kind.mapping, a.requestNamespace)
	if err != nil || ptr.Deref(a.config.EnableWatchBookmarks, true) {
		return made, err
	}
	return withoutBookmarks{made}, nil
}

// Transformer implements informer.Storage.
func (a storage) Transformer() toolscache.TransformFunc {
	kept, some := a.kind.settings.fields[a.kind.key.GVK]
	if a.kind.key.flavor != metadataOnly && !some {
		return a.config.Transform
	}
	return func(object any) (_ any, err error) {
		if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
			partial.SetGroupVersionKind(a.kind.key.GVK) // the API server does not say it
		}
		if a.config.Transform != nil {
			if object, err = a.config.Transform(object); err != nil {
				return nil, err
			}
		}
		if some {
			kept.Prune(object)
		}
		return object, nil
	}
}

// Add implements informer.Storage.
func (a storage) Add(object any) error { return a.Update(object) }

// Update implements informer.Storage.
func (a storage) Update(object any) error {
	k := a.kind
	k.mu.Lock()
	defer k.mu.Unlock()
	return a.putLocked(object, false)
}

// Delete implements informer.Storage.
func (a storage) Delete(object any) error {
	k := a.kind
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := a.indexer.Delete(object); err != nil {
		return err
	}
	a.advanceLocked()
	k.notifyLocked(notification{kind: deleted, old: object})
	return nil
}

// Replace implements informer.Storage.
func (a storage) Replace(list []any, resourceVersion string) error {
	k := a.kind
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := a.replaceLocked(list); err != nil {
		return err
	}
	a.progress, a.degraded = resourceVersion, false
	a.advanceLocked()
	a.answerLocked(true, nil)
	return nil
}

// Resync implements informer.Storage.
func (a storage) Resync() error { return nil }

// UpdateResourceVersion implements informer.Storage.
func (a storage) UpdateResourceVersion(resourceVersion string) {
	a.kind.mu.Lock()
	defer a.kind.mu.Unlock()
	a.progress = resourceVersion
	a.advanceLocked()
}

// DropAll implements informer.Storage. What an informer has that nobody needs any more is dropped by removeStream.
func (a storage) DropAll(status informer.Status) {
	if status.State == informer.Stopped {
		return
	}
	a.kind.mu.Lock()
	defer a.kind.mu.Unlock()
	if !status.State.IsFinal() {
		a.dropLocked(nil)
		return
	}
	r := &refusal{state: status.State, since: status.Since, err: status.Err}
	if r.isDenied() {
		var verb string
		r.missing, a.doubted = a.readAccesses(), true
		if r.identity, verb = readDenial(status.Err); verb == "list" || verb == "watch" {
			r.missing = []access.Access{a.accessTo(verb)}
		}
		if a.refusal.isDenied() && a.refusal.reviewed {
			r.missing, r.reviewed, r.since = a.refusal.missing, true, a.refusal.since
		}
	}
	a.dropLocked(r)
}

// ObjectCount implements informer.Storage.
func (a storage) ObjectCount() int {
	a.kind.mu.RLock()
	defer a.kind.mu.RUnlock()
	return len(a.indexer.ListKeys())
}

// Changed implements informer.EventHandler.
func (a storage) Changed(event informer.Event) {
	if event.Type == informer.StateChanged || event.Type == informer.Synced {
		a.setDegraded(event.State == informer.Degraded)
		a.kind.changed(a.kind)
	}
}
