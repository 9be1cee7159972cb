package streamstore

import (
	"regexp"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
)

// storage is a stream as the storage of its informer, and as the handler that is told how that is.
type storage struct{ *Stream }

var (
	_ informer.SharedStorage = storage{}
	_ informer.EventHandler  = storage{}
)

// Source implements informer.Storage.
func (s storage) Source() (listwatch.Source, error) {
	return s.store.MakeSource(s.RequestNamespace, s.Config)
}

// DecodeObject implements informer.SharedStorage.
func (s storage) DecodeObject(data []byte) (runtime.Object, error) { return s.Kind.DecodeObject(data) }

// Transformer implements informer.Storage.
func (s storage) Transformer() toolscache.TransformFunc { return s.store.Transformer(s.Config) }

// Add implements informer.Storage.
func (s storage) Add(object any) error { return s.Update(object) }

// Update implements informer.Storage.
func (s storage) Update(object any) error {
	k := s.store
	k.mu.Lock()
	defer k.mu.Unlock()
	return s.putLocked(object, false)
}

// Delete implements informer.Storage.
func (s storage) Delete(object any) error {
	k := s.store
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := s.indexer.Delete(object); err != nil {
		return err
	}
	s.advanceLocked()
	k.notifyLocked(eventqueue.Event{Type: eventqueue.Deleted, Old: object})
	return nil
}

// Replace implements informer.Storage.
func (s storage) Replace(list []any, resourceVersion string) error {
	k := s.store
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := s.replaceLocked(list); err != nil {
		return err
	}
	s.progress, s.degraded = resourceVersion, false
	s.advanceLocked()
	s.answerLocked(true, nil)
	return nil
}

// Resync implements informer.Storage.
func (s storage) Resync() error { return nil }

// UpdateResourceVersion implements informer.Storage.
func (s storage) UpdateResourceVersion(resourceVersion string) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.progress = resourceVersion
	s.advanceLocked()
}

// DropAll implements informer.Storage. What an informer has that nobody needs any more is dropped by RemoveStream.
func (s storage) DropAll(status informer.Status) {
	if status.State == informer.Stopped {
		return
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if !status.State.IsFinal() {
		s.dropLocked(nil)
		return
	}
	r := &Refusal{State: status.State, Since: status.Since, Err: status.Err}
	if r.IsDenied() {
		var verb string
		r.Missing, s.doubted = s.ReadAccesses(), true
		if r.Identity, verb = readDenial(status.Err); verb == "list" || verb == "watch" {
			r.Missing = []access.Access{s.accessTo(verb)}
		}
		if s.refusal.IsDenied() && s.refusal.reviewed {
			r.Missing, r.reviewed, r.Since = s.refusal.Missing, true, s.refusal.Since
		}
	}
	s.dropLocked(r)
}

// Changed implements informer.EventHandler.
func (s storage) Changed(event informer.Event) {
	if event.Type == informer.StateChanged || event.Type == informer.Synced {
		s.setDegraded(event.State == informer.Degraded)
		s.store.options.Changed()
	}
}

// forbiddenText is how the API server words a denial.
var forbiddenText = regexp.MustCompile(`User "([^"]*)" cannot (\w+) resource`)

// readDenial returns the identity and the verb in the answer of the API server, or "".
func readDenial(err error) (identity, verb string) {
	if err == nil {
		return "", ""
	}
	found := forbiddenText.FindStringSubmatch(err.Error())
	if found == nil {
		return "", ""
	}
	return found[1], found[2]
}
