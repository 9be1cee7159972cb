package informer

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/objectclient"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/freeport"
)

// patience is how long a story waits for what must happen.
const patience = 2 * time.Minute

// env is a story's own Set, as the user watcher, on the real control plane.
type env struct {
	*testing.T
	cluster *cluster.Cluster
	admin   kubernetes.Interface
	objects dynamic.Interface // as admin
	streams *Set
}

// newEnv starts a Set that ends with the test. Through via, if it is not "",
// is how they reach the API server.
func newEnv(t *testing.T, o Options, via string) *env {
	t.Helper()
	c := control.Cluster(t)
	config := c.User("watcher")
	config.UserAgent = t.Name()
	if via != "" {
		config.Host = "https://" + via
	}
	o.Clients = shared(t, config)
	w := &env{
		T: t, cluster: c, streams: NewSet(o),
		admin: kubernetes.NewForConfigOrDie(c.Admin()), objects: dynamic.NewForConfigOrDie(c.Admin()),
	}
	t.Cleanup(begin(t, w.streams))
	return w
}

// shared makes clients once, for every identity: those that Ambit has.
func shared(t testing.TB, config *rest.Config) func(string) (dynamic.Interface, metadata.Interface, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := objectclient.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return func(string) (dynamic.Interface, metadata.Interface, error) { return objects, meta, nil }
}

func (w *env) namespace() string {
	w.Helper()
	return w.cluster.Namespace(w.Context(), w, "watch")
}

// must fails the test on an error.
func (w *env) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// grant lets watcher list and watch everything in a namespace. The API server knows of
// it when grant returns: it decides by a cache.
func (w *env) grant(namespace string) {
	w.Helper()
	w.bind(namespace, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "watcher"})
	w.cluster.Decided(w.Context(), w, "watcher", namespace, true, watchingConfigMaps())
}

// watchingConfigMaps is a part of what bind grants.
func watchingConfigMaps() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{configMaps.Resource}, Verbs: []string{"watch"}}
}

// bind is grant for anybody, and does not wait.
func (w *env) bind(namespace string, to rbacv1.Subject) {
	w.Helper()
	_, err := w.admin.RbacV1().Roles(namespace).Create(w.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "watcher"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"list", "watch"}}},
	}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.admin.RbacV1().RoleBindings(namespace).Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "watcher"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "watcher"},
		Subjects:   []rbacv1.Subject{to},
	}, metav1.CreateOptions{})
	w.must(err)
}

func (w *env) revoke(namespace string) {
	w.Helper()
	w.must(w.admin.RbacV1().RoleBindings(namespace).Delete(w.Context(), "watcher", metav1.DeleteOptions{}))
	w.must(w.admin.RbacV1().Roles(namespace).Delete(w.Context(), "watcher", metav1.DeleteOptions{}))
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func configMapsIn(namespace string) Interest {
	set := fields.New("data")
	return Interest{Key: Key{GVR: configMaps, Namespace: namespace, Form: Form{Fields: set.String()}}, Fields: set}
}

// put creates or changes a ConfigMap as admin, and returns the answer.
func (w *env) put(namespace, name, value string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"data":     map[string]any{"value": value},
	}}
	answer, err := w.objects.Resource(configMaps).Namespace(namespace).
		Apply(w.Context(), name, object, metav1.ApplyOptions{FieldManager: "story"})
	w.must(err)
	return answer
}

func (w *env) delete(namespace, name string) {
	w.Helper()
	w.must(w.objects.Resource(configMaps).Namespace(namespace).Delete(w.Context(), name, metav1.DeleteOptions{}))
}

// eventually waits until ok.
func (w *env) eventually(what string, ok func() bool) {
	w.Helper()
	err := wait.PollUntilContextTimeout(w.Context(), 5*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return ok(), nil })
	if err != nil {
		w.Fatalf("%s: not within %v", what, patience)
	}
}

// requests returns what this story's informers asked the API server since mark,
// as "verb" and "code" words.
func (w *env) requests(mark cluster.Mark, verb string, opened bool) (found []cluster.Request) {
	w.Helper()
	all, err := w.cluster.Audit().Since(mark, "watcher")
	w.must(err)
	for _, r := range all {
		if strings.HasPrefix(r.UserAgent, w.Name()) && r.Verb == verb && (!opened || r.IsWatchOpened()) {
			found = append(found, r)
		}
	}
	return found
}

// open returns how many watches this story has open.
func (w *env) open() int {
	w.Helper()
	all, err := w.cluster.Audit().OpenWatches("watcher")
	w.must(err)
	return len(slices.DeleteFunc(all, func(r cluster.Request) bool { return r.UserAgent != w.Name() }))
}

// listener is an EventHandler that a story can wait on.
type listener struct {
	env    *env
	events chan Event
}

func (w *env) listener() *listener { return &listener{w, make(chan Event, 10_000)} }

func (l *listener) Changed(e Event) { l.events <- e }

// next waits for one event and checks it.
func (l *listener) next(kind EventType, name string) Event {
	l.env.Helper()
	select {
	case e := <-l.events:
		return l.check(e, kind, name)
	case <-time.After(patience):
		l.env.Fatalf("not told %s %q within %v", kind, name, patience)
	}
	return Event{}
}

// nextAfterSynced is next for who came second to an informer: it may have been synced before, which is not
// told again.
func (l *listener) nextAfterSynced(kind EventType, name string) Event {
	l.env.Helper()
	select {
	case e := <-l.events:
		if e.Type != Synced {
			return l.check(e, kind, name)
		}
	case <-time.After(patience):
		l.env.Fatalf("not told %s %q within %v", kind, name, patience)
	}
	return l.next(kind, name)
}

func (l *listener) check(e Event, kind EventType, name string) Event {
	l.env.Helper()
	got := ""
	if e.Object != nil {
		got = e.Object.GetName()
	}
	if e.Type != kind || got != name {
		l.env.Fatalf("told %s %q (%s), want %s %q", e.Type, got, e.State, kind, name)
	}
	return e
}

// becomes waits for a change to a state.
func (l *listener) becomes(state State) {
	l.env.Helper()
	if e := l.next(StateChanged, ""); e.State != state {
		for _, stream := range l.env.streams.States() {
			l.env.Logf("%s: %s, %s", stream.Key, stream.State, stream.Message)
		}
		l.env.Errorf("new state %s, want %s", e.State, state)
	}
}

// line is a way to the API server that can be cut.
type line struct {
	address string
	to      string

	mu       sync.Mutex // guards what is below
	listener net.Listener
	conns    []net.Conn
	running  sync.WaitGroup
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	l := &line{address: freeport.ForTest(t), to: to}
	l.mend(t)
	t.Cleanup(l.cut)
	return l
}

// mend makes the line work, under the address it has.
func (l *line) mend(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", l.address)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	l.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.carry(conn)
		}
	})
}

func (l *line) carry(from net.Conn) {
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = from.Close() // the other side sees it
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, from, to)
	l.mu.Unlock()
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		l.running.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // ends when either is closed
			_ = pair[0].Close()
		})
	}
}

// cut closes all connections and refuses new ones.
func (l *line) cut() {
	l.mu.Lock()
	_ = l.listener.Close() // twice is fine
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	l.running.Wait()
}
