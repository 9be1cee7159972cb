package policysource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/policytext"
	"github.com/ambit-dev/ambit/test/poll"
)

// patience is how long a story waits for what must happen.
const patience = 2 * time.Minute

// world is a story's own Ambit, but for the engine, on the real control plane: it acts as
// a ServiceAccount of its own namespace, which has no rights at first.
type world struct {
	*testing.T
	cluster *cluster.Cluster
	admin   kubernetes.Interface
	objects dynamic.Interface // as admin
	own     string            // the namespace
	engine  *fakeEngine
	events  *fakeRecorder
	source  *Source
	stop    func() // may be called more than once

	mu  sync.Mutex
	log []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := control.Cluster(t)
	return &world{
		T: t, cluster: c, engine: newFakeEngine(), events: &fakeRecorder{},
		admin: kubernetes.NewForConfigOrDie(c.Admin()), objects: dynamic.NewForConfigOrDie(c.Admin()),
		own: c.Namespace(t.Context(), t, "source"),
	}
}

// user is the name of the account that the world's Ambit acts as.
func (w *world) user() string { return "system:serviceaccount:" + w.own + ":ambit" }

// start runs the sources until stop is called or the test ends.
func (w *world) start(o Options) {
	w.Helper()
	config, err := w.cluster.ServiceAccount(w.Context(), w.own, "ambit")
	w.must(err)
	objects, typed := dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(config)
	meta := metadata.NewForConfigOrDie(config)
	streams := informer.NewSet(informer.Options{
		Clients:     func(string) (dynamic.Interface, metadata.Interface, error) { return objects, meta, nil },
		Reauthorize: true,
	})
	reviewer := access.New(access.Options{Reviews: func(string) (access.Reviews, error) { return access.FromClient(typed.AuthorizationV1()), nil }})
	o.Namespace, o.Informers, o.Access, o.Client, o.Controller, o.Recorder = w.own, streams, reviewer, objects, w.engine, w.events
	o.Logger = funcr.New(func(prefix, args string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, args)
	}, funcr.Options{})
	w.source, err = New(o)
	w.must(err)
	parts := []func(context.Context) error{w.source.Start, streams.Start, reviewer.Start}
	var stops []func()
	for _, start := range parts {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- start(ctx) }()
		stops = append(stops, sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != nil {
				w.Errorf("stopping: %v", err)
			}
		}))
	}
	w.stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	w.Cleanup(w.stop)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until check returns nil.
func (w *world) eventually(what string, check func() error) {
	w.Helper()
	last := errors.New("it was never looked at")
	err := poll.Until(w.Context(), patience, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Fatalf("waiting until %s: %v\nlog:\n%s", what, last, strings.Join(w.log, "\n"))
	}
}

// logged counts the lines of the log that hold a text.
func (w *world) logged(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// grant gives the world's Ambit rights in a namespace; "" is all. The function takes them
// away.
func (w *world) grant(namespace, name string, rules ...rbacv1.PolicyRule) (revoke func()) {
	w.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.own, Name: "ambit"}}
	rbac := w.admin.RbacV1()
	if namespace == "" {
		name = w.own + "-" + name
		_, err := rbac.ClusterRoles().Create(w.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
		w.must(err)
		_, err = rbac.ClusterRoleBindings().Create(w.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		}, metav1.CreateOptions{})
		w.must(err)
		return func() {
			w.must(rbac.ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{}))
		}
	}
	_, err := rbac.Roles(namespace).Create(w.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	w.must(err)
	_, err = rbac.RoleBindings(namespace).Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}, metav1.CreateOptions{})
	w.must(err)
	return func() {
		w.must(rbac.RoleBindings(namespace).Delete(context.Background(), name, metav1.DeleteOptions{}))
	}
}

func customResources() schema.GroupVersionResource {
	return v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)
}

func configMaps() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
}

// putMap applies a ConfigMap with policies.
func (w *world) putMap(namespace, name string, data map[string]string) {
	w.Helper()
	values := map[string]any{}
	for key, value := range data {
		values[key] = value
	}
	w.apply(configMaps(), namespace, name, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": values,
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"ambit.dev/policy-source": "true"}},
	})
}

// putResource applies a custom resource: see documentText.
func (w *world) putResource(namespace, words string) {
	w.Helper()
	name := strings.Fields(words)[0]
	w.apply(customResources(), namespace, name, policytext.Object(w.T, []byte(policytext.Document(words)), namespace, name))
}

func (w *world) apply(kind schema.GroupVersionResource, namespace, name string, object map[string]any) {
	w.Helper()
	_, err := w.objects.Resource(kind).Namespace(namespace).Apply(w.Context(), name, &unstructured.Unstructured{Object: object},
		metav1.ApplyOptions{FieldManager: "story", Force: true})
	w.must(err)
}

func (w *world) patch(kind schema.GroupVersionResource, namespace, name, patch string) {
	w.Helper()
	_, err := w.objects.Resource(kind).Namespace(namespace).Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.must(err)
}

func (w *world) remove(kind schema.GroupVersionResource, namespace, name string) {
	w.Helper()
	w.must(w.objects.Resource(kind).Namespace(namespace).Delete(w.Context(), name, metav1.DeleteOptions{}))
}

func (w *world) get(kind schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	return w.objects.Resource(kind).Namespace(namespace).Get(context.Background(), name, metav1.GetOptions{})
}

// runs waits until a version of a policy runs other than the one of a hash, and returns
// its hash.
func (w *world) runs(id, other string) (hash string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s runs another version", id), func() error {
		if hash = w.engine.hash(id); hash == other {
			return fmt.Errorf("the hash is %q", hash)
		}
		return nil
	})
	return hash
}

// fares waits until a custom resource's condition is as wanted, and returns its message.
func (w *world) fares(namespace, name, kind, status, reason string) (message string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s of %s is %s, %s", kind, name, status, reason), func() error {
		object, err := w.get(customResources(), namespace, name)
		if err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, c := range list {
			is := c.(map[string]any)
			if is["type"] != kind {
				continue
			}
			if is["status"] != status || is["reason"] != reason || is["observedGeneration"] != object.GetGeneration() {
				return fmt.Errorf("it is %v", is)
			}
			message, _ = is["message"].(string)
			return nil
		}
		if status == "" {
			return nil
		}
		return fmt.Errorf("it is not among %v", list)
	})
	return message
}

// requests returns what the world's Ambit asked of a resource since a mark.
func (w *world) requests(mark cluster.Mark, resource string) []cluster.Request {
	w.Helper()
	all, err := w.cluster.Audit().Since(mark, w.user())
	w.must(err)
	var found []cluster.Request
	for _, r := range all {
		if r.Resource == resource {
			found = append(found, r)
		}
	}
	return found
}
