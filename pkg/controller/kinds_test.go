package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/informer"
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

// RESTMappings finds no version.
func (c *catalogue) RESTMappings(gk schema.GroupKind, _ ...string) ([]*meta.RESTMapping, error) {
	return nil, nil
}

// TestKinds: the first lookup tells that a kind is missing, it is looked up
// again until it is there, and then no more.
func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		mapper, told := &catalogue{}, atomic.Int32{}
		k := newKinds(Options{Mapper: mapper, Clock: clock.RealClock{}}, func(map[schema.GroupKind]bool) { told.Add(1) })
		go k.run(ctx, nil)

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

// TestKindVersions: a kind counts as gone only when no version of it is served, by an
// answer that is younger than the doubt; one that is served in another version is found
// there.
func TestKindVersions(t *testing.T) {
	beta := schema.GroupVersionKind{Group: thing.Group, Version: "v1beta1", Kind: thing.Kind}
	mapping := func(gvk schema.GroupVersionKind) *meta.RESTMapping {
		return &meta.RESTMapping{Resource: gvk.GroupVersion().WithResource("things"), GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}
	}
	for name, c := range map[string]struct {
		reason string
		served []*meta.RESTMapping
		err    error
		gone   bool
		other  bool
	}{
		"none":         {reason: "no version is served", gone: true},
		"another":      {reason: "the objects are there, in the other version", served: []*meta.RESTMapping{mapping(thing)}, other: true},
		"still":        {reason: "discovery is behind: nothing is known", served: []*meta.RESTMapping{mapping(beta), mapping(thing)}},
		"not answered": {reason: "nothing is known", err: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			mapper := &catalogue{}
			k := newKinds(Options{Mapper: mapper, Clock: clock.RealClock{}, Served: func(context.Context, []schema.GroupKind) (map[schema.GroupKind]ServedKind, error) {
				return map[schema.GroupKind]ServedKind{beta.GroupKind(): {Mappings: c.served, Err: c.err}}, nil
			}}, nil)
			k.record(beta, mapping(beta), nil) // that is what it was
			resource := mapping(beta).Resource
			since := time.Now()
			if k.isGone(resource, since) {
				t.Fatalf("%s: gone before anybody has looked", c.reason)
			}
			if news := k.lookupAll(t.Context()); news[beta.GroupKind()] != (c.gone || c.other) {
				t.Errorf("%s: news %v", c.reason, news)
			}
			var other *otherVersion
			_, ok, err := k.lookup(beta)
			if errors.As(err, &other) != c.other || ok == c.other {
				t.Errorf("%s: %t, %v", c.reason, ok, err)
			}
			if found, ok := k.anyVersion(beta); !ok || c.other && found.resource.Version != "v1" {
				t.Errorf("%s: in any version %+v, %t", c.reason, found, ok)
			}
			if c.other {
				return
			}
			if gone := k.isGone(resource, since); gone != c.gone {
				t.Errorf("%s: gone %t", c.reason, gone)
			}
			if k.isGone(resource, time.Now().Add(time.Hour)) {
				t.Errorf("%s: gone by an answer that is older than the doubt", c.reason)
			}
		})
	}
}

// leaving is a catalogue that knows nothing, and before it says so calls back.
type leaving struct {
	catalogue
	meanwhile func()
}

func (l *leaving) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	l.meanwhile()
	return l.catalogue.RESTMapping(gk, versions...)
}

// TestKindsUnwantedMeanwhile: a kind that nobody needs any more when its lookup is answered
// is not looked up again.
func TestKindsUnwantedMeanwhile(t *testing.T) {
	mapper := &leaving{}
	k := newKinds(Options{Mapper: mapper, Clock: clock.RealClock{}}, nil)
	mapper.meanwhile = func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.wanted, thing) // as unwant does it
	}
	k.lookup(thing)
	k.lookupAll(t.Context())
	if k.anyWanted() || k.anyMissing() {
		t.Error("it is looked up for ever")
	}
}

// TestKindMadeAgain: a definition that was deleted and made again with another scope or
// resource is another kind, whether or not somebody saw that it was gone, and is noticed
// also where the stream was back first.
func TestKindMadeAgain(t *testing.T) {
	before := kind{resource: thing.GroupVersion().WithResource("things"), namespaced: true}
	for name, after := range map[string]kind{
		"the same": before, "another scope": {resource: before.resource}, "another resource": {resource: thing.GroupVersion().WithResource("thingies"), namespaced: true},
	} {
		for _, seen := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", seen), func(t *testing.T) {
				var served []*meta.RESTMapping
				var err error
				k := newKinds(Options{Mapper: &catalogue{}, Clock: clock.RealClock{}, Served: func(context.Context, []schema.GroupKind) (map[schema.GroupKind]ServedKind, error) {
					return map[schema.GroupKind]ServedKind{thing.GroupKind(): {Mappings: served}}, err
				}}, nil)
				mapping := func(k kind) *meta.RESTMapping {
					scope := meta.RESTScopeRoot
					if k.namespaced {
						scope = meta.RESTScopeNamespace
					}
					return &meta.RESTMapping{Resource: k.resource, GroupVersionKind: thing, Scope: scope}
				}
				k.record(thing, mapping(before), nil)
				k.isGone(before.resource, time.Now())
				if seen {
					k.lookupAll(t.Context())
					if !k.isGone(before.resource, time.Time{}) {
						t.Fatal("it is not gone")
					}
					k.forget(func() []informer.Key { return nil }) // the stream was back first
					err = errors.New("no answer")
					k.lookupAll(t.Context())
					k.forget(func() []informer.Key { return nil })
					err = nil
				}
				served = []*meta.RESTMapping{mapping(after)}
				if news := k.lookupAll(t.Context())[thing.GroupKind()]; news != (before != after) {
					t.Errorf("news: %t", news)
				}
				if found, ok, _ := k.lookup(thing); !ok || found != after {
					t.Errorf("it is %+v, want %+v", found, after)
				}
				k.forget(func() []informer.Key { return nil })
				if len(k.doubts) > 0 {
					t.Error("a doubt is left")
				}
			})
		}
	}
}

// TestKindRounds: whatever asks for kinds, a round of discovery answers all of them, rounds
// are bounded, and one kind that nobody but a record names is looked up more and more
// rarely. A definition that changes has all looked up at once.
func TestKindRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var rounds, most atomic.Int32
		k := newKinds(Options{Clock: clock.RealClock{}, Served: func(_ context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]ServedKind, error) {
			rounds.Add(1)
			most.Store(max(most.Load(), int32(len(kinds))))
			return nil, nil
		}}, func(map[schema.GroupKind]bool) {})
		go k.run(ctx, func() []informer.Key { return nil })
		count := func(during time.Duration) int32 {
			synctest.Wait()
			before := rounds.Load()
			time.Sleep(during)
			synctest.Wait()
			return rounds.Load() - before
		}
		invented := func(i int) schema.GroupVersionKind {
			return schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Thing"}
		}
		for i := range 3000 {
			k.lookupFor(invented(i), true)
		}
		if n := count(20 * time.Second); n > 10 || most.Load() != 3000 {
			t.Errorf("3000 kinds of records: %d rounds in 20 s, of %d kinds at most", n, most.Load())
		}
		if n := count(time.Hour); n > 20 {
			t.Errorf("%d rounds in an hour", n)
		}
		k.lookupFor(thing, true)
		k.lookup(thing)
		if n := count(20 * time.Second); n < 5 || n > 7 {
			t.Errorf("a kind that a policy names as well: %d rounds in 20 s", n)
		}
		k.unwant([]schema.GroupVersionKind{thing}, func() []schema.GroupVersionKind { return nil })
		count(10 * time.Second)
		before := rounds.Load()
		k.again()
		if synctest.Wait(); rounds.Load() != before+1 {
			t.Errorf("a definition has changed: %d rounds at once", rounds.Load()-before)
		}
		before = rounds.Load()
		for i := range 2000 { // an owner's record that is changed a hundred times a second
			k.lookup(invented(10_000 + i))
			time.Sleep(10 * time.Millisecond)
		}
		if n := rounds.Load() - before; n > 45 {
			t.Errorf("new kinds all the time: %d rounds in 20 s", n)
		}
		cancel()
		synctest.Wait()
	})
}
