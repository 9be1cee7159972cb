package streamstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/eventqueue"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/readlog"
)

func configMap(namespace, name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}}
}

// stage is a store with one listener, and nothing that fills it.
type stage struct {
	*Store
	listener *eventqueue.Listener
	read     []string // the owners who were told of what they had read
}

// newStage makes a store of ConfigMaps with streams of some namespaces.
func newStage(o Options, namespaces ...string) *stage {
	s := &stage{listener: eventqueue.NewListener("test", toolscache.ResourceEventHandlerFuncs{})}
	o.Changed = func() {}
	o.ReadChanged = func(owners []readlog.Owner, name types.NamespacedName) {
		for _, owner := range owners {
			s.read = append(s.read, owner.Name+" has read "+name.String())
		}
	}
	s.Store = New(&kindsettings.Kind{
		Key:     kindsettings.Key{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Flavor: kindsettings.Typed},
		Mapping: &meta.RESTMapping{Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Scope: meta.RESTScopeNamespace},
		Example: &corev1.ConfigMap{},
	}, o)
	for _, namespace := range namespaces {
		s.AddStream(s.NewStream(namespace, cache.Config{}, false))
	}
	s.AddListener(s.listener)
	return s
}

func (s *stage) storage(namespace string) storage { return storage{s.StreamOf(namespace)} }

// told are the events since the last call, as type, name and version.
func (s *stage) told() (list []string) {
	for _, e := range s.listener.TakeAll() {
		object, lost := e.New, ""
		if e.Type == eventqueue.Deleted {
			object = e.Old
		}
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object, lost = gone.Obj, " as lost"
		}
		text := []string{"added", "updated", "deleted", "settled"}[e.Type]
		if o, ok := object.(*corev1.ConfigMap); ok {
			text += " " + o.Namespace + "/" + o.Name + "@" + o.ResourceVersion + lost
		}
		if e.Initial {
			text += " at first"
		}
		list = append(list, text)
	}
	return list
}

func (s *stage) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.told(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestEvents: what event handlers are told of what an informer does with a stream.
func TestEvents(t *testing.T) {
	s := newStage(Options{}, "one")
	of := s.storage("one")
	must(t, of.Replace([]any{configMap("one", "a", "1"), configMap("one", "b", "1")}, "5"))
	s.expect(t, "the first list", "added one/a@1 at first", "added one/b@1 at first")
	must(t, of.Update(configMap("one", "a", "1")))
	s.expect(t, "nothing has changed")
	must(t, of.Update(configMap("one", "a", "6")))
	must(t, of.Add(configMap("one", "c", "7")))
	must(t, of.Delete(configMap("one", "b", "8")))
	s.expect(t, "a stream of events", "updated one/a@6", "added one/c@7", "deleted one/b@8")
	must(t, of.Replace([]any{configMap("one", "c", "9")}, "9"))
	s.expect(t, "another list", "updated one/c@9", "deleted one/a@6 as lost")
	late := eventqueue.NewListener("late", toolscache.ResourceEventHandlerFuncs{})
	s.AddListener(late)
	if events := late.TakeAll(); len(events) != 1 || !events[0].Initial {
		t.Errorf("who comes late is told %v", events)
	}
}

// TestDropAll: what a stream is after its informer was stopped by the API server, and whether handlers hear of it.
func TestDropAll(t *testing.T) {
	forbidden := errors.New(`configmaps is forbidden: User "team" cannot watch resource "configmaps" in API group "" in the namespace "one"`)
	cases := map[string]struct {
		reason  string
		status  informer.Status
		leaves  bool
		events  []string
		state   informer.State
		missing []string
		doubted bool
	}{
		"Forbidden": {
			reason: "the answer names one verb; both are in doubt", status: informer.Status{State: informer.Forbidden, Err: forbidden},
			state: informer.Forbidden, missing: []string{"watch"}, doubted: true,
		},
		"Unclear": {
			reason: "an answer without words", status: informer.Status{State: informer.Forbidden, Err: errors.New("no")},
			state: informer.Forbidden, missing: []string{"list", "watch"}, doubted: true,
		},
		"Leaves": {
			reason: "handlers are told if they want to", leaves: true, status: informer.Status{State: informer.Missing},
			state: informer.Missing, events: []string{"deleted one/a@1 as lost"},
		},
		"Again":   {reason: "it is opened anew: nothing is known", status: informer.Status{State: informer.Starting}, state: informer.Starting},
		"Stopped": {reason: "whoever stops an informer drops the stream", status: informer.Status{State: informer.Stopped}, state: informer.Live},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(Options{DeleteOnLeave: tc.leaves}, "one")
			stream, of := s.StreamOf("one"), s.storage("one")
			must(t, of.Replace([]any{configMap("one", "a", "1")}, "5"))
			s.told()
			of.DropAll(tc.status)
			s.expect(t, tc.reason, tc.events...)
			state := s.StreamStates()["one"]
			var missing []string
			for _, a := range state.Missing {
				missing = append(missing, a.Verb)
			}
			if diff := cmp.Diff(tc.missing, missing); diff != "" || state.State != tc.state {
				t.Errorf("%s: it is %s, want %s (-want +got):\n%s", tc.reason, state.State, tc.state, diff)
			}
			if first, again := stream.TakeDoubt(), stream.TakeDoubt(); first != tc.doubted || again {
				t.Errorf("%s: in doubt %v, want %v; and again %v", tc.reason, first, tc.doubted, again)
			}
		})
	}
}

// TestDenyReviewed: a review adds to what the API server has answered, and does not begin the denial anew.
func TestDenyReviewed(t *testing.T) {
	s := newStage(Options{}, "one")
	stream, since := s.StreamOf("one"), time.Unix(1000, 0)
	s.storage("one").DropAll(informer.Status{State: informer.Forbidden, Since: since, Err: errors.New(`User "team" cannot list resource "configmaps"`)})
	missing := []access.Access{{Verb: "watch", Resource: "configmaps"}}
	stream.DenyReviewed(missing, since.Add(time.Hour))
	got := stream.CurrentRefusal()
	if !got.Since.Equal(since) || got.Identity != "team" || cmp.Diff(missing, got.Missing) != "" || !got.IsDenied() {
		t.Errorf("after a review: %+v", got)
	}
	stream.DenyReviewed(missing, since.Add(2*time.Hour))
	if again := stream.CurrentRefusal(); again != got {
		t.Errorf("the same review: another refusal %+v", again)
	}
	s.storage("one").DropAll(informer.Status{State: informer.Forbidden, Since: since.Add(3 * time.Hour), Err: errors.New("no")})
	if again := stream.CurrentRefusal(); !again.Since.Equal(since) || cmp.Diff(missing, again.Missing) != "" {
		t.Errorf("an answer after a review that says more: %+v", again)
	}
	if (*Refusal)(nil).IsDenied() {
		t.Error("no refusal is a denial")
	}
}

// TestTakeOver: a stream of all namespaces takes over those that end: handlers are told what differs, once it has its
// first list.
func TestTakeOver(t *testing.T) {
	s := newStage(Options{DeleteOnLeave: true}, "one", "two")
	must(t, s.storage("one").Replace([]any{configMap("one", "a", "1"), configMap("one", "b", "1"), configMap("one", "c", "1")}, "5"))
	must(t, s.storage("two").Replace(nil, "5"))
	s.told()
	s.AddStream(s.NewStream("", cache.Config{}, false))
	ended := s.StreamOf("one")
	s.RemoveStream(ended)
	s.RemoveStream(s.StreamOf("two"))
	s.expect(t, "the streams end")
	if s.HasStream("one") || s.StreamOf("one").Namespace != "" || ended.CurrentRefusal().State != informer.Stopped {
		t.Error("the stream of all namespaces has not taken over")
	}
	must(t, s.storage("").Replace([]any{configMap("one", "a", "1"), configMap("one", "b", "6"), configMap("two", "d", "1")}, "7"))
	s.expect(t, "the first list of all", "updated one/b@6", "added two/d@1 at first", "deleted one/c@1 as lost")
}

// TestSettled: an informer is synced once every stream that is to be has its first list, or is refused.
func TestSettled(t *testing.T) {
	s := newStage(Options{}, "one", "two")
	i := s.SharedInformer(idle{})
	if s.SharedInformer(idle{}) != i {
		t.Error("there are two informers of one kind")
	}
	steps := []struct {
		what string
		do   func()
	}{
		{"one is synced", func() { must(t, s.storage("one").Replace(nil, "5")) }},
		{"the other is refused", func() { s.storage("two").DropAll(informer.Status{State: informer.Forbidden}) }},
		{"all are there", s.SetPlanned},
	}
	for _, step := range steps {
		if i.HasSynced() || s.IsAnswered() {
			t.Fatalf("it is synced before %s", step.what)
		}
		step.do()
	}
	if !i.HasSynced() || !s.IsAnswered() {
		t.Error("it is not synced")
	}
	s.expect(t, "once", "settled")
	s.storage("two").DropAll(informer.Status{State: informer.Starting})
	if !i.HasSynced() || s.IsAnswered() {
		t.Error("an informer stays synced, and a stream that is opened again is not answered")
	}
}

// idle is a Runner that runs nothing.
type idle struct{}

func (idle) StartListener(i *Informer, l *eventqueue.Listener) bool {
	i.Store().AddListener(l)
	return !i.IsStopped()
}
func (idle) EndedRunning() <-chan struct{} { return nil }

// TestInformerStopped: a handler and an index of an informer that was removed are errors; what is stored stays.
func TestInformerStopped(t *testing.T) {
	s := newStage(Options{}, "one")
	must(t, s.storage("one").Replace([]any{configMap("one", "a", "1")}, "5"))
	i, index := s.SharedInformer(idle{}), toolscache.Indexers{"by": func(any) ([]string, error) { return []string{"x"}, nil }}
	must(t, i.AddIndexers(index))
	if err := i.AddIndexers(index); err == nil || !strings.Contains(err.Error(), "indexer conflict") {
		t.Errorf("the same index twice: %v", err)
	}
	registered, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
	must(t, err)
	other := newStage(Options{})
	if err := other.SharedInformer(idle{}).RemoveEventHandler(registered); err == nil {
		t.Error("a handler of another informer was removed")
	}
	must(t, i.RemoveEventHandler(registered))
	s.StopInformer()
	if _, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{}); !errors.Is(err, errStopped) {
		t.Errorf("a handler: %v", err)
	}
	if err := i.AddIndexers(index); !errors.Is(err, errStopped) {
		t.Errorf("an index: %v", err)
	}
	if s.StreamOf("one").ObjectCount() != 1 || s.SharedInformer(idle{}) == i {
		t.Error("objects have gone, or there is no new informer")
	}
}

// TestAwaitObjects: a read waits for the first list or for a refusal, also when the stream is opened again; and ends in
// time.
func TestAwaitObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(Options{}, "one")
		stream := s.StreamOf("one")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, _, err := stream.AwaitObjects(ctx); !apierrors.IsTimeout(err) {
			t.Errorf("nothing has come: %v", err)
		}
		if err := s.WaitAnswered(ctx); !apierrors.IsTimeout(err) {
			t.Errorf("it is not known which streams there are: %v", err)
		}
		go func() {
			s.storage("one").DropAll(informer.Status{State: informer.Forbidden})
			time.Sleep(time.Second)
			s.storage("one").DropAll(informer.Status{State: informer.Starting})
			time.Sleep(time.Second)
			_ = s.storage("one").Replace([]any{configMap("one", "a", "1")}, "5")
		}()
		if _, refused, err := stream.AwaitObjects(t.Context()); err != nil || !refused.IsDenied() {
			t.Errorf("it is refused: %v, %v", refused, err)
		}
		time.Sleep(1500 * time.Millisecond) // it is opened again
		indexer, refused, err := stream.AwaitObjects(t.Context())
		if err != nil || refused != nil || len(indexer.List()) != 1 {
			t.Errorf("its objects are there: %v, %v", refused, err)
		}
		s.SetPlanned()
		must(t, s.WaitAnswered(t.Context()))
	})
}

// TestReads: owners are told of changes of what they have read; not of a first list, and not when they are forgotten.
func TestReads(t *testing.T) {
	s := newStage(Options{}, "one")
	reader := &readlog.Reader{Owner: readlog.Owner{NamespacedName: types.NamespacedName{Name: "web"}}}
	s.RecordName(reader, types.NamespacedName{Namespace: "one", Name: "a"})
	s.RecordName(&readlog.Reader{}, types.NamespacedName{Namespace: "one", Name: "b"})
	must(t, s.storage("one").Replace([]any{configMap("one", "a", "1"), configMap("one", "b", "1")}, "5"))
	must(t, s.storage("one").Update(configMap("one", "a", "6")))
	must(t, s.storage("one").Update(configMap("one", "b", "6")))
	s.ForgetReads(reader)
	must(t, s.storage("one").Update(configMap("one", "a", "7")))
	if diff := cmp.Diff([]string{"web has read one/a"}, s.read); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNewStream: a selector of one namespace narrows the requests for all.
func TestNewStream(t *testing.T) {
	s := newStage(Options{NamePrefix: "test "})
	stream := s.NewStream("", cache.Config{FieldSelector: fields.OneTermEqualSelector("metadata.namespace", "one")}, false)
	if key := stream.InformerInterest().Key; stream.Namespace != "" || key.Namespace != "one" || !strings.HasPrefix(key.Form.Storage, "test ") {
		t.Errorf("namespace %q, key %+v", stream.Namespace, key)
	}
	if s.NewStream("two", cache.Config{}, false).InformerInterest().Key.Namespace != "two" {
		t.Error("without a selector it is the namespace of the stream")
	}
}
