package scopedcache

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/test/sim"
)

// newPlan makes a simulated cluster with some namespaces, in which the operator may read if it is granted, and a
// cache that is not started.
func newPlan(t *testing.T, own Options, namespaces ...string) *plan {
	t.Helper()
	p := &plan{T: t, random: rand.New(rand.NewPCG(1, 1)), granted: map[string]bool{}, seen: map[string]string{}}
	p.server = sim.New(sim.Options{Seed: 1, Faults: p})
	p.admin = p.server.As(sim.Admin).Dynamic()
	for _, namespace := range namespaces {
		p.write(namespaceResource, "", object("v1", "Namespace", namespace))
		p.write(roleResource, namespace, readerRole())
	}
	p.makeCacheOf(own, nil)
	return p
}

// run runs the cache until stop is called.
func (p *plan) run() (stop func()) {
	ctx, cancel := context.WithCancel(p.Context())
	var running sync.WaitGroup
	running.Go(func() { p.must(p.cache.Start(ctx)) })
	synctest.Wait()
	return func() { cancel(); running.Wait() }
}

// silentSource answers when it is told to.
type silentSource struct {
	listwatch.Source
	speaks <-chan struct{}
}

// List implements listwatch.Source.
func (s silentSource) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if !eventqueue.WaitClosed(ctx, s.speaks) {
		return nil, ctx.Err()
	}
	return s.Source.List(ctx, options)
}

// Watch implements listwatch.Source.
func (s silentSource) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if !eventqueue.WaitClosed(ctx, s.speaks) {
		return nil, ctx.Err()
	}
	return s.Source.Watch(ctx, options)
}

// TestNotBlocking: BlockUntilSynced(false) gives an informer at once while the API server has not answered, and all
// that waits says so when its context ends.
func TestNotBlocking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one")
		p.flipRight("one")
		speaks := make(chan struct{})
		connect := p.cache.settings.Connect
		p.cache.settings.Connect = func(key kindsettings.Key, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error) {
			made, err := connect(key, mapping, namespace)
			return silentSource{made, speaks}, err
		}
		defer p.run()()
		began := time.Now()
		i, err := p.cache.GetInformer(t.Context(), newConfigMap(), cache.BlockUntilSynced(false))
		p.must(err)
		if waited := time.Since(began); waited > 0 || i.HasSynced() {
			t.Errorf("after %s; is it synced: %t", waited, i.HasSynced())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.cache.GetInformer(ctx, newConfigMap()); !apierrors.IsTimeout(err) {
			t.Errorf("an informer that does not sync: %v", err)
		}
		if err := p.cache.Get(ctx, client.ObjectKey{Namespace: "one", Name: "a"}, newConfigMap()); !apierrors.IsTimeout(err) {
			t.Errorf("a read that is not answered: %v", err)
		}
		if p.cache.WaitForCacheSync(ctx) {
			t.Error("the cache is synced")
		}
		close(speaks)
		if !p.cache.WaitForCacheSync(t.Context()) || !i.HasSynced() {
			t.Error("it does not sync")
		}
	})
}

// TestEndedContext: a context that has ended before the call ends it, also if the informer has synced meanwhile.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one")
		p.flipRight("one")
		defer p.run()()
		if _, err := p.cache.GetInformer(t.Context(), newConfigMap()); err != nil {
			t.Fatal(err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		for range 50 {
			if i, err := p.cache.GetInformer(ended, newConfigMap()); i != nil || !apierrors.IsTimeout(err) {
				t.Fatalf("an informer for a context that has ended: %v, %v", i, err)
			}
			if !p.cache.WaitForCacheSync(ended) {
				t.Fatal("a cache that has settled is not synced")
			}
		}
	})
}

// TestEndedContextReads: the first read of a kind ends with its context, and has the kind watched all the same.
func TestEndedContextReads(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	reads := map[string]func(client.Reader, context.Context) error{
		"Get": func(r client.Reader, ctx context.Context) error {
			return client.IgnoreNotFound(r.Get(ctx, client.ObjectKey{Namespace: "one", Name: "a"}, newConfigMap()))
		},
		"List": func(r client.Reader, ctx context.Context) error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(newConfigMap().GroupVersionKind())
			return r.List(ctx, list, client.InNamespace("one"))
		},
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one")
				p.flipRight("one")
				defer p.run()()
				if err := read(p.cache, ended); !apierrors.IsTimeout(err) {
					t.Errorf("the first read: %v, want a timeout", err)
				}
				if !p.cache.WaitForCacheSync(t.Context()) {
					t.Error("the kind is not watched")
				}
				if err := read(p.cache, ended); err != nil {
					t.Errorf("a read of what is there: %v", err)
				}
			})
		})
	}
}

// grantEverywhere lets the operator read a resource in all namespaces.
func (p *plan) grantEverywhere(resource string) {
	p.Helper()
	role := readerRole()
	role.SetKind("ClusterRole")
	role.Object["rules"].([]any)[0].(map[string]any)["resources"] = []any{resource}
	p.write(roleResource.GroupVersion().WithResource("clusterroles"), "", role)
	binding := object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "reader")
	binding.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}
	binding.Object["subjects"] = []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}}
	p.write(bindingResource.GroupVersion().WithResource("clusterrolebindings"), "", binding)
}

// TestMetadataOfNamespaces: a cache that follows namespaces has them for those who read their metadata as well.
func TestMetadataOfNamespaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: SelectedNamespaces(nil)}, "one")
		p.grantEverywhere("namespaces")
		defer p.run()()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		read := &metav1.PartialObjectMetadata{}
		read.SetGroupVersionKind(namespaceResource.GroupVersion().WithKind("Namespace"))
		p.must(p.cache.Get(ctx, client.ObjectKey{Name: "one"}, read))
		if !p.cache.WaitForCacheSync(ctx) {
			t.Error("it does not sync")
		}
	})
}

// TestMovingNamespaces: while one namespace takes the place of another, a list has the objects of one of them, a new index
// is in both, and nothing fails.
func TestMovingNamespaces(t *testing.T) {
	t.Parallel()
	p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one", "two")
	for _, namespace := range []string{"one", "two"} {
		p.flipRight(namespace)
		p.create(namespace, "a")
	}
	ctx, stop := context.WithCancel(t.Context())
	var running, reading sync.WaitGroup
	running.Go(func() { p.must(p.cache.Start(ctx)) })
	defer running.Wait()
	defer stop()
	<-p.cache.registry.BeganRunning()
	moving := make(chan struct{})
	for range 4 {
		reading.Go(func() {
			for !eventqueue.IsClosed(moving) {
				list := &unstructured.UnstructuredList{}
				list.SetGroupVersionKind(configMapKind.GroupVersion().WithKind("ConfigMapList"))
				if err := p.cache.List(ctx, list); err != nil || len(list.Items) != 1 {
					t.Errorf("%d objects, %v", len(list.Items), err)
					return
				}
			}
		})
	}
	reading.Go(func() {
		for i := range 300 {
			if err := p.cache.IndexField(ctx, newConfigMap(), strconv.Itoa(i), func(client.Object) []string { return nil }); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 1000 {
		p.must(p.cache.SetNamespaces([]string{"two", "one"}[i%2]))
	}
	close(moving)
	reading.Wait()
	if p.cache.SetNamespaces("") == nil {
		t.Error("a namespace has no name")
	}
}

// TestReadWithoutNamespace: a read of a kind with namespaces that names none is one of the stream of all of them, if there
// is one, and opens none.
func TestReadWithoutNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: Permitted("one")}, "one")
		p.flipRight("one")
		stop := p.run()
		p.must(p.cache.Get(t.Context(), client.ObjectKey{Namespace: "one", Name: "a"}, p.create("one", "a")))
		if err := p.cache.Get(t.Context(), client.ObjectKey{Name: "a"}, newConfigMap()); err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			t.Errorf("there is no stream of all namespaces: %v", err)
		}
		stop()
		p.grantEverywhere("configmaps")
		p.makeCacheOf(Options{}, map[string]cache.Config{cache.AllNamespaces: {}, "one": {FieldSelector: fields.Everything()}})
		defer p.run()()
		if err := p.cache.Get(t.Context(), client.ObjectKey{Name: "a"}, newConfigMap()); !apierrors.IsNotFound(err) {
			t.Errorf("in the stream of all namespaces: %v", err)
		}
	})
}

// create makes a ConfigMap, and returns an empty one to read it into.
func (p *plan) create(namespace, name string) *unstructured.Unstructured {
	p.Helper()
	p.write(configMapResource, namespace, object("v1", "ConfigMap", name))
	return newConfigMap()
}

// TestRemovedIndexes: the indexes of an informer go with it, also if a handle keeps the objects.
func TestRemovedIndexes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one")
		p.flipRight("one")
		p.create("one", "a")
		defer p.run()()
		key := client.ObjectKey{Namespace: "one", Name: "a"}
		h := p.cache.For(ownerNamed("owner"))
		p.must(h.Get(t.Context(), key, newConfigMap()))
		for _, value := range []string{"first", "second"} {
			p.must(p.cache.IndexField(t.Context(), newConfigMap(), "f", func(client.Object) []string { return []string{value} }))
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(configMapKind.GroupVersion().WithKind("ConfigMapList"))
			p.must(h.List(t.Context(), list, client.MatchingFields{"f": value}))
			if len(list.Items) != 1 {
				t.Errorf("%s: %d objects are found by the index", value, len(list.Items))
			}
			p.must(p.cache.RemoveInformer(t.Context(), newConfigMap()))
			p.must(h.Get(t.Context(), key, newConfigMap()))
		}
	})
}

// TestListErrors: what a list is refused for is what cache.New refuses it for, and no sooner.
func TestListErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one")
		p.flipRight("one")
		list := func(options ...client.ListOption) error {
			all := &unstructured.UnstructuredList{}
			all.SetGroupVersionKind(configMapKind.GroupVersion().WithKind("ConfigMapList"))
			return p.cache.List(t.Context(), all, options...)
		}
		var notStarted *cache.ErrCacheNotStarted
		if err := list(client.Continue("token")); !errors.As(err, &notStarted) {
			t.Errorf("continued before the start: %v", err)
		}
		p.must(p.cache.IndexField(t.Context(), newConfigMap(), "f", func(client.Object) []string { return []string{"value"} }))
		defer p.run()()
		if err := list(client.Continue("token")); !errors.Is(err, errContinue) {
			t.Errorf("continued: %v", err)
		}
		p.must(list(client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie("f=other,no-index=x")}))
		if err := list(client.MatchingFields{"no-index": "x"}); err == nil {
			t.Error("a field has no index")
		}
	})
}

// TestAllowPartial: a list without an error has what some namespaces have. Where all are denied it fails.
func TestAllowPartial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: InNamespaces("one", "two"), AllowPartial: true}, "one", "two")
		defer p.run()()
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(configMapKind.GroupVersion().WithKind("ConfigMapList"))
		if err := p.cache.List(t.Context(), list); !apierrors.IsForbidden(err) {
			t.Errorf("all are denied: %v", err)
		}
		p.flipRight("one")
		time.Sleep(2 * time.Minute)
		p.must(p.cache.List(t.Context(), list))
	})
}

// TestListWithoutNamespaces: a list of a kind without namespaces has all, also if one is named; but nothing, as that of
// TestListWithoutNamespaces: a list of a kind without namespaces that names a namespace is empty, as with cache.New.
func TestListWithoutNamespaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one")
		p.grantEverywhere("namespaces")
		defer p.run()()
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(namespaceResource.GroupVersion().WithKind("NamespaceList"))
		p.must(p.cache.List(t.Context(), list))
		if len(list.Items) == 0 {
			t.Error("there are no namespaces")
		}
		p.must(p.cache.List(t.Context(), list, client.InNamespace("one")))
		if len(list.Items) > 0 {
			t.Errorf("there are %d in a namespace", len(list.Items))
		}
	})
}

// TestUndecidable: a rule that names objects leaves it open whether all may be watched. The API server says so.
func TestUndecidable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: Permitted("one", "two")}, "two")
		p.flipRight("two")
		p.write(namespaceResource, "", object("v1", "Namespace", "one"))
		role := readerRole()
		role.Object["rules"].([]any)[0].(map[string]any)["resourceNames"] = []any{"a"}
		p.write(roleResource, "one", role)
		p.flipRight("one")
		defer p.run()()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.cache.GetInformer(ctx, newConfigMap())
		p.must(err)
		if err := p.cache.Get(ctx, client.ObjectKey{Namespace: "one", Name: "a"}, newConfigMap()); !apierrors.IsForbidden(err) {
			t.Errorf("reading where only some objects may be read: %v", err)
		}
	})
}

// TestCandidates: what the cache itself reads stays within the namespaces that Permitted names. A handle may go beyond.
func TestCandidates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: Permitted("one")}, "one", "two")
		for _, namespace := range []string{"one", "two"} {
			p.flipRight(namespace)
			p.create(namespace, "a")
		}
		defer p.run()()
		key := client.ObjectKey{Namespace: "two", Name: "a"}
		if err := p.cache.Get(t.Context(), key, newConfigMap()); err == nil {
			t.Error("the cache reads in a namespace that is no candidate")
		}
		h := p.cache.For(ownerNamed("owner"))
		p.must(h.Get(t.Context(), key, newConfigMap()))
		h.Close()
		synctest.Wait()
		if states := p.cache.informers.States(); len(states) > 0 {
			t.Errorf("streams that nobody needs: %v", states)
		}
	})
}

// TestExpiredToken: who is not known to the API server is told that, and not that a right is missing.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: InNamespaces("one")}, "one")
		p.flipRight("one")
		p.create("one", "a")
		p.expired.Store(true)
		defer p.run()()
		key := client.ObjectKey{Namespace: "one", Name: "a"}
		if err := p.cache.Get(t.Context(), key, newConfigMap()); !apierrors.IsUnauthorized(err) {
			t.Errorf("reading with an expired token: %v", err)
		}
		p.expired.Store(false)
		time.Sleep(5 * time.Minute)
		p.must(p.cache.Get(t.Context(), key, newConfigMap()))
	})
}

// TestMoreRights: a grant in all namespaces takes nothing away: no Delete is told, and nothing is lost. What was deleted
// meanwhile is told.
func TestMoreRights(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(t, Options{Namespaces: Permitted("one", "two"), DeleteOnLeave: true}, "one", "two", "three")
		for _, namespace := range []string{"one", "two"} {
			p.flipRight(namespace)
			p.create(namespace, "a")
		}
		p.create("three", "a")
		defer p.run()()
		i, err := p.cache.GetInformer(t.Context(), newConfigMap())
		p.must(err)
		seen := &recorder{}
		_, err = i.AddEventHandler(seen)
		p.must(err)
		var lost atomic.Bool
		p.cache.OnChange(t.Context(), func(c Change) { lost.Store(lost.Load() || c.IsLost()) })
		synctest.Wait()
		p.grantEverywhere("configmaps")
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		events := seen.all()
		slices.Sort(events)
		if diff := cmp.Diff([]string{"add! one/a", "add! three/a", "add! two/a"}, events); diff != "" || lost.Load() {
			t.Errorf("lost: %t; events (-want +got):\n%s", lost.Load(), diff)
		}
	})
}
