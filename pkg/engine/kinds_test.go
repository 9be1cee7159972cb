package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// catalogue is a RESTMapper that knows what it is told.
type catalogue struct {
	meta.RESTMapper
	served atomic.Bool
	asked  atomic.Int32
}

var thing = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

func (c *catalogue) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	c.asked.Add(1)
	if !c.served.Load() {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return &meta.RESTMapping{Resource: thing.GroupVersion().WithResource("things"), Scope: meta.RESTScopeNamespace}, nil
}

// TestKinds: the first lookup tells that a kind is missing, it is looked up
// again until it is there, and then no more.
func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		mapper, told := &catalogue{}, atomic.Int32{}
		k := newKinds(mapper, clock.RealClock{}, func() { told.Add(1) })
		go k.run(ctx)

		if _, ok, err := k.lookup(thing); ok || err != nil {
			t.Fatalf("before the first lookup: %t, %v, want neither", ok, err)
		}
		synctest.Wait()
		var missing *meta.NoKindMatchError
		if _, ok, err := k.lookup(thing); ok || !errors.As(err, &missing) || told.Load() != 1 {
			t.Fatalf("after the first lookup: %t, %v, told %d times", ok, err, told.Load())
		}
		time.Sleep(time.Minute) // of the test's own clock
		if told.Load() != 1 {
			t.Errorf("told %d times that it is still missing", told.Load())
		}
		mapper.served.Store(true)
		time.Sleep(lookupBackoffMax)
		synctest.Wait()
		found, ok, err := k.lookup(thing)
		if !ok || err != nil || found.resource.Resource != "things" || !found.namespaced || told.Load() != 2 {
			t.Fatalf("once it is served: %+v, %t, %v, told %d times", found, ok, err, told.Load())
		}
		asked := mapper.asked.Load()
		time.Sleep(time.Hour)
		if mapper.asked.Load() != asked {
			t.Errorf("a kind that is known was looked up again")
		}
		cancel()
		synctest.Wait()
	})
}
