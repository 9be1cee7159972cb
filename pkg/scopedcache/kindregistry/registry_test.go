package kindregistry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/readlog"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
	"github.com/ambit-dev/ambit/test/sim"
)

var configMaps = kindsettings.Key{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Flavor: kindsettings.Unstructured}

// stage is a registry on the simulated cluster, with the namespaces one, two and three.
type stage struct {
	*testing.T
	*Registry
	server *sim.Server

	mu         sync.Mutex // guards what is below
	news, told []string
}

// play has a story told in virtual time, with the registry at work unless the story is of one that is not. What is
// running ends with it.
func play(t *testing.T, given streamlayout.Namespaces, story func(*stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, given)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.RunAll(ctx, s.options.Informers.Start, s.options.Reviews.Start) }()
		<-s.BeganRunning()
		story(s)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func newStage(t *testing.T, given streamlayout.Namespaces) *stage {
	s := &stage{T: t, server: sim.New(sim.Options{Seed: 1})}
	for _, name := range []string{"one", "two", "three"} {
		s.create("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {team: %s}}}", name, name)
		s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader, namespace: %s}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]}`, name)
	}
	client := s.server.As("operator")
	settings, err := kindsettings.New(&rest.Config{}, nil, cache.Options{Mapper: client.Mapper()})
	s.must(err)
	settings.Connect = func(key kindsettings.Key, mapping *meta.RESTMapping, namespace string) (listwatch.Source, error) {
		if key.Flavor == kindsettings.Metadata {
			return listwatch.MetadataSource(client.Metadata().Resource(mapping.Resource).Namespace(namespace)), nil
		}
		return listwatch.DynamicSource(client.Dynamic().Resource(mapping.Resource).Namespace(namespace)), nil
	}
	s.Registry, err = New(Options{
		Settings: settings, Namespaces: given, Informers: informer.NewSet(informer.Options{}),
		Reviews: access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return client.Reviews(), nil }}),
		OnNews:  func(c Change) { s.note(&s.news, c) },
	})
	s.must(err)
	return s
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) create(format string, args ...any) {
	s.Helper()
	s.must(s.server.As(sim.Admin).CreateYAML(s.Context(), fmt.Sprintf(format, args...)))
}

// grant gives the right to watch ConfigMaps in namespaces.
func (s *stage) grant(namespaces ...string) {
	s.Helper()
	for _, namespace := range namespaces {
		s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: User, name: operator}]}`, namespace)
	}
}

// grantAll gives a right in the whole cluster.
func (s *stage) grantAll(resource string) {
	s.Helper()
	s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}, rules: [{apiGroups: [""], resources: [%[1]s], verbs: [list, watch]}]}`, resource)
	s.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}, subjects: [{kind: User, name: operator}]}`, resource)
}

func (s *stage) note(list *[]string, c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := c.Namespace + " " + string(c.State)
	for _, owner := range c.Owners {
		text += " for " + owner.Name
	}
	*list = append(*list, text)
}

func (s *stage) take(list *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := *list
	*list = nil
	slices.Sort(taken)
	return taken
}

// streams says which streams a kind has and how they are.
func (s *stage) streams() map[string]informer.State {
	states := map[string]informer.State{}
	if store := s.StoreOf(configMaps); store != nil {
		for namespace, state := range store.StreamStates() {
			states[namespace] = state.State
		}
	}
	return states
}

func (s *stage) expect(what string, want map[string]informer.State) {
	s.Helper()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	if diff := cmp.Diff(want, s.streams()); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func holderFor(name string) *Holder {
	return &Holder{Reader: readlog.Reader{Owner: readlog.Owner{NamespacedName: types.NamespacedName{Name: name}}}}
}

func (s *stage) need(h *Holder, namespaces ...string) {
	s.Helper()
	for _, namespace := range namespaces {
		_, err := s.RequireKind(h, configMaps, &namespace)
		s.must(err)
	}
}

type states = map[string]informer.State

// besides are some states, and those of the namespaces that each cluster has, which are not granted.
func besides(some states) states {
	some["default"], some["kube-system"] = informer.Forbidden, informer.Forbidden
	return some
}

// TestNeeds: there is a stream for each namespace that somebody needs, and none when nobody does.
func TestNeeds(t *testing.T) {
	play(t, streamlayout.Namespaces{Rule: streamlayout.Permitted, Names: []string{"one"}}, func(s *stage) {
		s.grant("one", "two")
		web, db := holderFor("web"), holderFor("db")
		s.need(web, "one", "two")
		s.need(db, "two", "three")
		s.expect("two owners", states{"one": informer.Live, "two": informer.Live, "three": informer.Forbidden})
		s.CloseHolder(db)
		s.expect("one is left", states{"one": informer.Live, "two": informer.Live})
		if _, err := s.RequireKind(db, configMaps, new(string)); err == nil || !strings.Contains(err.Error(), "closed") {
			s.Errorf("a closed holder needs something: %v", err)
		}
		s.CloseHolder(web)
		s.CloseHolder(web)
		s.expect("nobody is left", states{})
		if open := s.server.Watches(); len(open) > 0 || len(s.NeededStores()) > 0 {
			s.Errorf("watches %v, stores %v", open, s.NeededStores())
		}
	})
}

// TestChanges: what changes is told, and to whom it matters; a refusal, and its end, are news.
func TestChanges(t *testing.T) {
	play(t, streamlayout.Namespaces{Rule: streamlayout.Permitted, Names: []string{"one"}}, func(s *stage) {
		s.grant("one")
		s.need(holderFor("web"), "one", "two")
		s.expect("at first", states{"one": informer.Live, "two": informer.Forbidden})
		ctx, leave := context.WithCancel(s.Context())
		s.SubscribeChanges(ctx, false, func(c Change) { s.note(&s.told, c) })
		synctest.Wait()
		for _, step := range []struct {
			what       string
			do         func()
			told, news []string
		}{
			{"who comes is told how it is", func() {}, []string{"one Live for web", "two Forbidden for web"}, []string{"two Forbidden for web"}},
			{"a grant", func() { s.grant("two") }, []string{"two Live for web"}, []string{"two Live for web"}},
			{"nothing", func() {}, nil, nil},
			{"who has left is told nothing", func() { leave(); s.need(holderFor("db"), "three") }, nil, []string{"three Forbidden for db"}},
		} {
			step.do()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if diff := cmp.Diff([][]string{step.told, step.news}, [][]string{s.take(&s.told), s.take(&s.news)}); diff != "" {
				s.Errorf("%s: told, and news (-want +got):\n%s", step.what, diff)
			}
		}
	})
}

// TestEverywhere: one stream is for all namespaces where that is allowed, and one each where it is not, whichever comes first.
func TestEverywhere(t *testing.T) {
	play(t, streamlayout.Namespaces{Rule: streamlayout.Permitted}, func(s *stage) {
		s.grantAll("namespaces")
		s.grant("one")
		_, err := s.RequireKind(holderFor("web"), configMaps, nil)
		s.must(err)
		s.expect("in one namespace", besides(states{"one": informer.Live, "two": informer.Forbidden, "three": informer.Forbidden}))
		s.create("{apiVersion: v1, kind: Namespace, metadata: {name: four}}")
		s.expect("a namespace is new", besides(states{"one": informer.Live, "two": informer.Forbidden, "three": informer.Forbidden, "four": informer.Forbidden}))
		s.grantAll("configmaps")
		s.expect("in all", states{"": informer.Live})
		bindings := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
		s.must(s.server.As(sim.Admin).Dynamic().Resource(bindings).Delete(s.Context(), "configmaps", metav1.DeleteOptions{}))
		time.Sleep(15 * time.Minute) // it is known when the watch ends
		s.expect("in one again", besides(states{"one": informer.Live, "two": informer.Forbidden, "three": informer.Forbidden, "four": informer.Forbidden}))
	})
}

// TestSetNamespaces: names can be replaced where they were given as a list, and nowhere else.
func TestSetNamespaces(t *testing.T) {
	play(t, streamlayout.Namespaces{Rule: streamlayout.Fixed, Names: []string{"two", "one", "two"}}, func(s *stage) {
		s.grant("one", "three")
		_, err := s.RequireKind(&Holder{}, configMaps, nil)
		s.must(err)
		s.expect("as it was made", states{"one": informer.Live, "two": informer.Forbidden})
		s.must(s.SetNamespaces([]string{"three", "one"}))
		s.expect("others", states{"one": informer.Live, "three": informer.Live})
		if err := s.SetNamespaces([]string{"one", ""}); err == nil {
			s.Error("an empty name was taken")
		}
		s.expect("as before", states{"one": informer.Live, "three": informer.Live})
	})
	for name, given := range map[string]streamlayout.Namespaces{"as configured": {}, "of rights": {Rule: streamlayout.Permitted}} {
		play(t, given, func(s *stage) {
			if err := s.SetNamespaces([]string{"one"}); err == nil {
				s.Errorf("names were replaced of a cache %s", name)
			}
		})
	}
}

// TestNamespacesRefused: where namespaces may not be read there are none, and it can be asked why.
func TestNamespacesRefused(t *testing.T) {
	play(t, streamlayout.Namespaces{Rule: streamlayout.Selected}, func(s *stage) {
		_, err := s.RequireKind(&Holder{}, configMaps, nil)
		s.must(err)
		s.expect("refused", states{})
		if _, refused := s.NamespacesRefused(); !refused.IsDenied() {
			s.Errorf("it is not refused: %+v", refused)
		}
		s.grantAll("namespaces")
		s.expect("granted", besides(states{"one": informer.Forbidden, "two": informer.Forbidden, "three": informer.Forbidden}))
		if _, refused := s.NamespacesRefused(); refused != nil {
			s.Errorf("it is still refused: %+v", refused)
		}
	})
}

// TestInformerOf: one informer a kind, until it is removed; what handles need stays.
func TestInformerOf(t *testing.T) {
	play(t, streamlayout.Namespaces{Rule: streamlayout.Fixed, Names: []string{"one"}}, func(s *stage) {
		s.grant("one")
		root, web := &Holder{}, holderFor("web")
		i, err := s.InformerOf(root, configMaps)
		s.must(err)
		if again, err := s.InformerOf(root, configMaps); again != i || err != nil {
			s.Errorf("another informer: %v", err)
		}
		s.need(web, "one")
		s.RemoveInformer(root, configMaps)
		s.expect("a handle needs it", states{"one": informer.Live})
		if s.StartListener(i, eventqueue.NewListener("late", toolscache.ResourceEventHandlerFuncs{})) || !i.IsStopped() {
			s.Error("a listener of an informer that was removed was started")
		}
		if again, err := s.InformerOf(root, configMaps); again == i || err != nil {
			s.Errorf("the informer that was removed: %v", err)
		}
	})
}

// TestRunOnce: a second run is an error, and so is a kind that nobody serves.
func TestRunOnce(t *testing.T) {
	play(t, streamlayout.Namespaces{}, func(s *stage) {
		if err := s.RunAll(s.Context()); err == nil {
			s.Error("it runs twice")
		}
		unknown := kindsettings.Key{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Nothing"}, Flavor: kindsettings.Unstructured}
		if _, err := s.RequireKind(&Holder{}, unknown, nil); !meta.IsNoMatchError(err) {
			s.Errorf("a kind that is not served: %v", err)
		}
		if len(s.NeededStores()) > 0 {
			s.Error("it is kept")
		}
	})
}
