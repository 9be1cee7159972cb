package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/test/sim"
)

// faults are Faults made of functions; nil ones disturb nothing.
type faults struct {
	before func(context.Context, sim.Request) error
	after  func(sim.Request, error) error
	stream func(sim.Request) sim.Stream
}

func (f faults) Before(ctx context.Context, r sim.Request) error {
	if f.before == nil {
		return nil
	}
	return f.before(ctx, r)
}

func (f faults) After(_ context.Context, r sim.Request, answer error) error {
	if f.after == nil {
		return answer
	}
	return f.after(r, answer)
}

func (f faults) Stream(r sim.Request) sim.Stream {
	if f.stream == nil {
		return nil
	}
	return f.stream(r)
}

// configMaps are those of namespace default, as admin.
func configMaps(server *sim.Server) dynamic.ResourceInterface {
	return server.As(sim.Admin).Dynamic().Resource(resources()["configmaps"]).Namespace("default")
}

func configMap(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
}

func mustCreate(t *testing.T, objects dynamic.ResourceInterface, name string) {
	t.Helper()
	if _, err := objects.Create(t.Context(), configMap(name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestRequestFaults: a request is refused before anything is done, and its answer is
// lost after that.
func TestRequestFaults(t *testing.T) {
	lost := errors.New("the connection was closed")
	busy := apierrors.NewTooManyRequests("busy", 1)
	server := sim.New(sim.Options{Faults: faults{
		before: func(_ context.Context, r sim.Request) error {
			if r.Verb == "create" && r.Name == "refused" {
				return busy
			}
			return nil
		},
		after: func(r sim.Request, answer error) error {
			if r.Verb == "create" && r.Name == "lost" {
				return lost
			}
			return answer
		},
	}})
	objects := configMaps(server)
	cases := map[string]struct {
		want  error
		there bool
	}{"refused": {busy, false}, "lost": {lost, true}, "fine": {nil, true}}
	for name, c := range cases {
		answer, err := objects.Create(t.Context(), configMap(name), metav1.CreateOptions{})
		if !errors.Is(err, c.want) || (err == nil) != (answer != nil) {
			t.Errorf("%s: answered %v, %v, want %v", name, answer, err, c.want)
		}
		_, err = objects.Get(t.Context(), name, metav1.GetOptions{})
		if there := !apierrors.IsNotFound(err); there != c.there {
			t.Errorf("%s: it is there: %t, want %t", name, there, c.there)
		}
	}
}

// TestEndedContext: a request whose context has ended does nothing.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	objects := configMaps(sim.New(sim.Options{}))
	if _, err := objects.Create(ctx, configMap("one"), metav1.CreateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("answered %v", err)
	}
	if _, err := objects.Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

// TestStreamFaults: events of a stream come late, or it ends, or it answers 410; what
// another stream shows is not touched.
func TestStreamFaults(t *testing.T) {
	cases := map[string]struct {
		delivery sim.Delivery // of the second event
		want     []string
	}{
		"None":   {sim.Delivery{}, []string{"0s ADDED a", "0s ADDED b", "0s ADDED c"}},
		"Lag":    {sim.Delivery{Lag: time.Second}, []string{"0s ADDED a", "1s ADDED b", "1s ADDED c"}},
		"End":    {sim.Delivery{End: true}, []string{"0s ADDED a", "0s the end"}},
		"Expire": {sim.Delivery{Expire: true}, []string{"0s ADDED a", "0s 410 Expired", "0s the end"}},
		"LateEnd": {sim.Delivery{End: true, Lag: time.Minute},
			[]string{"0s ADDED a", "1m0s the end"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := sim.New(sim.Options{Faults: faults{stream: func(r sim.Request) sim.Stream {
					if r.User != "watcher" {
						return nil
					}
					seen := 0
					return func(watch.EventType, uint64) sim.Delivery {
						if seen++; seen == 2 {
							return c.delivery
						}
						return sim.Delivery{}
					}
				}}})
				grantAll(t, server, "watcher")
				version := fmt.Sprint(server.ResourceVersion())
				got := follow(t, server, "watcher", version, len(c.want))
				whole := follow(t, server, sim.Admin, version, 3)
				for _, name := range []string{"a", "b", "c"} {
					mustCreate(t, configMaps(server), name)
				}
				if lines := whole(); !slices.Equal(lines, cases["None"].want) {
					t.Errorf("another stream saw %q, want %q", lines, cases["None"].want)
				}
				if lines := got(); !slices.Equal(lines, c.want) {
					t.Errorf("saw %q, want %q", lines, c.want)
				}
			})
		})
	}
}

func grantAll(t *testing.T, server *sim.Server, user string) {
	t.Helper()
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": user},
		"roleRef":  map[string]any{"kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{map[string]any{"kind": "User", "name": user}},
	}}
	bindings := server.As(sim.Admin).Dynamic().Resource(resources()["clusterrolebindings"])
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// follow watches ConfigMaps from a resourceVersion on; the result waits for a number of
// events, each with when it came.
func follow(t *testing.T, server *sim.Server, user, version string, count int) func() []string {
	t.Helper()
	began := time.Now()
	objects := server.As(user).Dynamic().Resource(resources()["configmaps"]).Namespace("default")
	w, err := objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return func() (lines []string) {
		defer w.Stop()
		for range count {
			event, ok := <-w.ResultChan()
			text := "the end"
			if status, isStatus := event.Object.(*metav1.Status); isStatus {
				text = fmt.Sprintf("%d %s", status.Code, status.Reason)
			} else if ok {
				text = fmt.Sprintf("%s %s", event.Type, event.Object.(*unstructured.Unstructured).GetName())
			}
			lines = append(lines, time.Since(began).String()+" "+text)
		}
		return lines
	}
}

// TestCompaction: a watch from before it is answered 410, and so is one from before the
// history that is kept.
func TestCompaction(t *testing.T) {
	server := sim.New(sim.Options{History: 3})
	old := fmt.Sprint(server.ResourceVersion())
	for i := range 3 {
		mustCreate(t, configMaps(server), fmt.Sprint("first-", i))
	}
	if got := follow(t, server, sim.Admin, old, 1)(); !strings.HasSuffix(got[0], "ADDED first-0") {
		t.Errorf("over three changes: %q", got)
	}
	mustCreate(t, configMaps(server), "fourth")
	if got := follow(t, server, sim.Admin, old, 1)(); !strings.HasSuffix(got[0], "410 Expired") {
		t.Errorf("over four changes: %q", got)
	}
	now := fmt.Sprint(server.ResourceVersion())
	server.Compact()
	mustCreate(t, configMaps(server), "fifth")
	if got := follow(t, server, sim.Admin, now, 1)(); !strings.HasSuffix(got[0], "ADDED fifth") {
		t.Errorf("after a compaction: %q", got)
	}
}

// TestSlowWatch: a watch that nobody reads is ended, and holds up nobody.
func TestSlowWatch(t *testing.T) {
	server := sim.New(sim.Options{WatchBuffer: 2})
	w, err := configMaps(server).Watch(t.Context(), metav1.ListOptions{ResourceVersion: fmt.Sprint(server.ResourceVersion())})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		mustCreate(t, configMaps(server), fmt.Sprint("one-", i))
	}
	read := 0
	for range w.ResultChan() {
		read++
	}
	if read != 2 || len(server.Watches()) != 0 {
		t.Errorf("read %d events, want 2; %d watches are open", read, len(server.Watches()))
	}
}

// TestWatchTimes: bookmarks come by the minute and before the end, which comes with the
// timeout; a context ends a watch.
func TestWatchTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, seconds := sim.New(sim.Options{}), int64(150)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began, version := time.Now(), fmt.Sprint(server.ResourceVersion())
		w, err := configMaps(server).Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for event := range w.ResultChan() {
			got = append(got, fmt.Sprintf("%s %s", time.Since(began), event.Type))
		}
		got = append(got, fmt.Sprintf("%s the end", time.Since(began)))
		if want := []string{"1m0s BOOKMARK", "2m0s BOOKMARK", "2m28s BOOKMARK", "2m30s the end"}; !slices.Equal(got, want) {
			t.Errorf("saw %q, want %q", got, want)
		}
		if _, err := configMaps(server).Watch(ctx, metav1.ListOptions{ResourceVersion: version}); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if open := server.Watches(); len(open) > 0 {
			t.Errorf("after the end of their context: %v", open)
		}
	})
}

// TestAuthorizerLag: a grant and a revocation count when the authorizer has seen them.
func TestAuthorizerLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sim.New(sim.Options{AuthorizerLag: time.Second})
		may := func() bool {
			_, err := server.As("alice").Dynamic().Resource(resources()["configmaps"]).Namespace("default").List(t.Context(), metav1.ListOptions{})
			if err != nil && !apierrors.IsForbidden(err) {
				t.Fatal(err)
			}
			return err == nil
		}
		grantAll(t, server, "alice")
		if may() {
			t.Error("a grant counts at once")
		}
		time.Sleep(time.Second)
		if !may() {
			t.Error("a grant does not count after the lag")
		}
		if err := server.As(sim.Admin).Dynamic().Resource(resources()["clusterrolebindings"]).Delete(t.Context(), "alice", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if !may() {
			t.Error("a revocation counts at once")
		}
		time.Sleep(time.Second)
		if may() {
			t.Error("a revocation does not count after the lag")
		}
	})
}

// TestSeed: the same requests get the same answers, and another seed others.
func TestSeed(t *testing.T) {
	uid := func(seed uint64) string {
		server := sim.New(sim.Options{Seed: seed})
		made, err := configMaps(server).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "made-"}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made.GetName() + " " + string(made.GetUID())
	}
	if a, b, c := uid(1), uid(1), uid(2); a != b || a == c {
		t.Errorf("seed 1 gives %q and %q, seed 2 %q", a, b, c)
	}
}

// TestMapper: what is served is known at once, and forgotten when it is gone.
func TestMapper(t *testing.T) {
	server := sim.New(sim.Options{})
	admin := server.As(sim.Admin)
	served := func(kind schema.GroupKind) string {
		mapping, err := admin.Mapper().RESTMapping(kind)
		if err != nil && !meta.IsNoMatchError(err) {
			t.Fatal(err)
		}
		all, err := admin.Served(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(len(all))
		if mapping != nil {
			text += " " + mapping.Resource.String() + " " + string(mapping.Scope.Name())
		}
		return text
	}
	if got, want := served(schema.GroupKind{Group: "apps", Kind: "Deployment"}), "1 apps/v1, Resource=deployments namespace"; got != want {
		t.Errorf("Deployments: %s, want %s", got, want)
	}
	zone := schema.GroupKind{Group: "sim.example.com", Kind: "Zone"}
	if got := served(zone); got != "0" {
		t.Errorf("Zones before their definition: %s", got)
	}
	definitions := admin.Dynamic().Resource(resources()["crds"])
	if _, err := definitions.Create(t.Context(), readObject(t, "testdata/crds/zones.yaml"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := served(zone), "1 sim.example.com/v1, Resource=zones root"; got != want {
		t.Errorf("Zones: %s, want %s", got, want)
	}
	if err := definitions.Delete(t.Context(), "zones.sim.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for server.Collect() {
	}
	if got := served(zone); got != "0" {
		t.Errorf("Zones after their definition: %s", got)
	}
}

// TestConcurrency: writers, readers and watchers at once; the race detector looks on.
func TestConcurrency(t *testing.T) {
	server := sim.New(sim.Options{})
	objects := configMaps(server)
	w, err := objects.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for range w.ResultChan() {
		}
	})
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("%d-%d", i, j)
				if _, err := objects.Create(t.Context(), configMap(name), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
				if _, err := objects.List(t.Context(), metav1.ListOptions{}); err != nil {
					t.Error(err)
				}
				server.Collect()
			}
		})
	}
	writers.Wait()
	w.Stop()
	all.Wait()
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 80 {
		t.Errorf("there are %d, %v", len(list.Items), err)
	}
}
