package informer

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// recordedStorage is a Storage that remembers its calls.
type recordedStorage struct {
	server *server

	mu    sync.Mutex // guards what is below
	calls []string
}

func (s *recordedStorage) record(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

func (s *recordedStorage) take() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// Source implements Storage.
func (s *recordedStorage) Source() (listwatch.Source, error) { return s.server, nil }

// Transformer implements Storage: it marks what it has seen.
func (s *recordedStorage) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		object, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return nil, errors.New("no object")
		}
		object.SetAnnotations(map[string]string{"seen": "true"})
		return object, nil
	}
}

func (s *recordedStorage) event(what string, obj any) error {
	object := obj.(*unstructured.Unstructured)
	if object.GetAnnotations()["seen"] != "true" {
		return errors.New("it was not transformed")
	}
	s.record(what + " " + object.GetName())
	return nil
}

// Add implements Storage.
func (s *recordedStorage) Add(obj any) error { return s.event("add", obj) }

// Update implements Storage.
func (s *recordedStorage) Update(obj any) error { return s.event("update", obj) }

// Delete implements Storage.
func (s *recordedStorage) Delete(obj any) error { return s.event("delete", obj) }

// Resync implements Storage.
func (s *recordedStorage) Resync() error { return nil }

// Replace implements Storage.
func (s *recordedStorage) Replace(list []any, _ string) error {
	s.record("replace")
	for _, obj := range list {
		if err := s.event("has", obj); err != nil {
			return err
		}
	}
	return nil
}

// UpdateResourceVersion implements Storage.
func (s *recordedStorage) UpdateResourceVersion(string) {}

// DropAll implements Storage.
func (s *recordedStorage) DropAll(status Status) { s.record("drop " + string(status.State)) }

// ObjectCount implements Storage.
func (s *recordedStorage) ObjectCount() int { return 7 }

// TestStorage: the objects of an informer go to its Storage, which is emptied when it is refused; handlers are told
// how the informer is.
func TestStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.put(thing("a", "1"))
		kept, told := &recordedStorage{server: server}, &recorder{}
		set := testSet(nil, Options{Retry: func(int) time.Duration { return time.Second }})
		need := Interest{Key: Key{GVR: needOf("").Key.GVR, Form: Form{Storage: "mine"}}, Storage: kept}
		lister := set.Require(told, []Interest{need})[0]
		stop := begin(t, set)
		defer stop()
		check := func(what string, want, wantTold []string) {
			t.Helper()
			if diff := cmp.Diff(want, kept.take()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
			if diff := cmp.Diff(wantTold, told.take()); diff != "" {
				t.Errorf("%s, handlers (-want +got):\n%s", what, diff)
			}
		}
		check("the first list", []string{"replace", "has a"}, []string{"Synced"})
		if states := set.States(); !lister.Synced() || states[0].Objects != 7 {
			t.Errorf("the informer is %v, with %d objects", lister.Status(), states[0].Objects)
		}
		server.put(thing("b", "1"))
		server.put(thing("b", "2"))
		server.remove("a")
		check("events", []string{"add b", "update b", "delete a"}, nil)
		set.RevokeInformers(func(Key) bool { return true }, errors.New("it is gone"))
		check("a revocation", []string{"drop Forbidden"}, []string{"StateChanged Forbidden"})
		time.Sleep(2 * time.Second)
		check("the next try", []string{"replace", "has b"}, []string{"Synced"})
		set.Require(told, nil)
		check("the end", []string{"drop Stopped"}, nil)
	})
}
